import { readFileSync } from 'node:fs'
import { type Script, scriptOf } from './redis-connection.ts'

function textOf(name: string): string {
  return readFileSync(new URL(`${name}.lua`, import.meta.url), 'utf8')
}

/** The script of one file with `preludes` put behind its first line, the shebang, which must stay the first. */
function load(name: string, ...preludes: readonly string[]): Script {
  const text = textOf(name)
  const bodyAt = text.indexOf('\n') + 1
  return scriptOf(text.slice(0, bodyAt) + preludes.join('') + text.slice(bodyAt))
}

const shard = textOf('shard')
const minute = textOf('minute')
const key = textOf('key')
const ending = textOf('ending')
const copy = textOf('copy')

/** Every script of the Redis side. The head of each `.lua` file is its contract. */
export const scripts = {
  inspect: load('inspect', shard, minute, key),
  admit: load('admit', shard, minute, key),
  settle: load('settle', shard, minute, ending),
  void: load('void', shard, minute, ending),
  renew: load('renew', shard),
  sweep: load('sweep', shard, minute, ending),
  apply: load('apply', shard, copy),
  project: load('project', shard, copy),
  openEpoch: load('open-epoch', shard),
  publishCatalogue: load('publish-catalogue'),
} as const
