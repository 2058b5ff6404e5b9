import { loadLibrary, scriptOf } from '../../redis/script-library.ts'

/** In the order in which each may use what the one before says. */
const files = [
  ...['shard', 'minute', 'key', 'ending', 'copy'],
  ...['inspect', 'admit', 'settle', 'void', 'renew', 'sweep', 'apply', 'project', 'open-epoch'],
]

const library = loadLibrary(files.map((name) => new URL(`${name}.lua`, import.meta.url)))

/** Every script of the shards. The head of each `.lua` file is its contract. */
export const scripts = {
  inspect: scriptOf(library, 'inspect', 'no'),
  admit: scriptOf(library, 'admit'),
  settle: scriptOf(library, 'settle'),
  void: scriptOf(library, 'void'),
  renew: scriptOf(library, 'renew'),
  sweep: scriptOf(library, 'sweep'),
  apply: scriptOf(library, 'apply'),
  project: scriptOf(library, 'project'),
  openEpoch: scriptOf(library, 'open_epoch'),
} as const
