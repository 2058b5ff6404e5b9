import { loadLibrary, scriptOf } from '../../redis/script-library.ts'

/** In the order in which each may use what the one before says. */
const files = [
  ...['shard', 'minute', 'key', 'ending', 'copy'],
  ...[
    'inspect',
    'count',
    'admit',
    'settle',
    'void',
    'renew',
    'sweep',
    'apply',
    'project',
    'open-epoch',
    'recount',
  ],
]

const library = loadLibrary(files.map((name) => new URL(`${name}.lua`, import.meta.url)))

/** Every script of the shards. The head of each `.lua` file is its contract. */
export const scripts = {
  inspect: scriptOf(library, 'inspect', { writes: 'no' }),
  count: scriptOf(library, 'count'),
  admit: scriptOf(library, 'admit'),
  settle: scriptOf(library, 'settle', { sent: 'always' }),
  void: scriptOf(library, 'void', { sent: 'always' }),
  renew: scriptOf(library, 'renew', { sent: 'always' }),
  sweep: scriptOf(library, 'sweep'),
  apply: scriptOf(library, 'apply'),
  project: scriptOf(library, 'project'),
  openEpoch: scriptOf(library, 'open_epoch'),
  recount: scriptOf(library, 'recount'),
} as const
