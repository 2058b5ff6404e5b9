import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Library, Script } from './script-call.ts'

/** In the order in which each may use what the one before says. */
const files = [
  ...['shard', 'minute', 'key', 'ending', 'copy'],
  ...['inspect', 'admit', 'settle', 'void', 'renew', 'sweep', 'apply', 'project', 'open-epoch'],
  'publish-catalogue',
]

function textOf(name: string): string {
  return readFileSync(new URL(`${name}.lua`, import.meta.url), 'utf8')
}

/** All Lua files as one library of functions, named after what it says: versions live side by side in one Redis. */
function loadLibrary(): Library {
  const text = files.map(textOf).join('\n')
  const name = `mg_${createHash('sha1').update(text).digest('hex').slice(0, 12)}`
  return { name, source: `#!lua name=${name}\nlocal library = '${name}'\n${text}` }
}

const library = loadLibrary()

function script(name: string, writes: Script['writes'] = 'yes'): Script {
  return { library, label: name, name: `${library.name}_${name}`, writes }
}

/** Every script of the Redis side. The head of each `.lua` file is its contract. */
export const scripts = {
  inspect: script('inspect', 'no'),
  admit: script('admit'),
  settle: script('settle'),
  void: script('void'),
  renew: script('renew'),
  sweep: script('sweep'),
  apply: script('apply'),
  project: script('project'),
  openEpoch: script('open_epoch'),
  publishCatalogue: script('publish_catalogue'),
} as const
