import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Library, LibraryFunction, Script, WholeText } from './script-call.ts'

/**
 * Lua files as one library of functions; each file sees what the ones before it define. It is named after its text, so
 * that versions can live side by side in one Redis.
 *
 * The files find the library's name in `library`, and register `<library>_<function>`. They set `KEYS` and `ARGV`, which
 * a function is only given as arguments.
 */
export function loadLibrary(files: readonly URL[]): Library {
  const text = textOf(files)
  const name = `mg_${sha1Of(text).slice(0, 12)}`
  return { name, source: `#!lua name=${name}\nlocal library, KEYS, ARGV = '${name}'\n${text}` }
}

/** One function of a library. By default it writes, and is not sent while the circuit is open. */
export function functionOf(
  library: Library,
  name: string,
  {
    writes = 'yes',
    sent = 'unless_open',
  }: Partial<Pick<LibraryFunction, 'writes'> & Pick<Script, 'sent'>> = {},
): Script {
  return { label: name, code: { kind: 'function', library, name: `${library.name}_${name}`, writes }, sent }
}

/**
 * Lua files as one script, whose last file returns the result. It runs by the hash of its text, also when
 * Redis is full, and is not sent while the circuit is open. By default it writes.
 */
export function loadScript(
  label: string,
  files: readonly URL[],
  { writes = 'yes' }: Partial<Pick<WholeText, 'writes'>> = {},
): Script {
  const text = `#!lua flags=${writes === 'yes' ? 'allow-oom' : 'no-writes'}\n${textOf(files)}`
  return { label, code: { kind: 'text', text, sha1: sha1Of(text), writes }, sent: 'unless_open' }
}

function textOf(files: readonly URL[]): string {
  return files.map((file) => readFileSync(file, 'utf8')).join('\n')
}

function sha1Of(text: string): string {
  return createHash('sha1').update(text).digest('hex')
}
