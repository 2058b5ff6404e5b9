import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Library, Script } from './script-call.ts'

/**
 * Lua files as one library of functions; each file sees what the ones before it define. It is named after its text, so
 * that versions can live side by side in one Redis.
 *
 * The files find the library's name in `library`, and register `<library>_<function>`.
 */
export function loadLibrary(files: readonly URL[]): Library {
  const text = files.map((file) => readFileSync(file, 'utf8')).join('\n')
  const name = `mg_${createHash('sha1').update(text).digest('hex').slice(0, 12)}`
  return { name, source: `#!lua name=${name}\nlocal library = '${name}'\n${text}` }
}

/** One function of a library; unless said it writes, and is not sent while the circuit is open. */
export function scriptOf(
  library: Library,
  name: string,
  { writes = 'yes', sent = 'unless_open' }: Partial<Pick<Script, 'writes' | 'sent'>> = {},
): Script {
  return { library, label: name, name: `${library.name}_${name}`, writes, sent }
}
