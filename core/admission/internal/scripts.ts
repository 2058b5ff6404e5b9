import { functionOf, loadLibrary, loadScript } from '../../redis/lua-files.ts'

// Files in order: each may use the functions of the files before it.
const library = loadLibrary(
  [
    'shard',
    'offer',
    'minute',
    'window',
    'key',
    'key-answer',
    'ending',
    'endings',
    'refused-list',
    'inspect',
    'count',
    'token-count',
    'admit',
    'list',
    'settle',
    'void',
    'renew',
  ].map(fileOf),
)

/** Gateways run functions, the fastest way. Any gateway could replace them, but only for other gateways. */
export const gatewayScripts = {
  inspect: functionOf(library, 'inspect', { writes: 'no' }),
  count: functionOf(library, 'count'),
  tokenCount: functionOf(library, 'token_count'),
  admit: functionOf(library, 'admit'),
  list: functionOf(library, 'list'),
  settle: functionOf(library, 'settle', { sent: 'always' }),
  void: functionOf(library, 'void', { sent: 'always' }),
  renew: functionOf(library, 'renew', { sent: 'always' }),
} as const

/**
 * Workers run whole script texts, which no other process can replace: workers have more permissions than
 * gateways.
 */
export const workerScripts = {
  sweep: workerScript('sweep'),
  apply: workerScript('apply'),
  project: workerScript('project'),
  openEpoch: workerScript('open-epoch'),
  handOver: workerScript('hand-over'),
  recount: workerScript('recount'),
} as const

/** Scripts of the cabinet, which may only read. */
export const cabinetScripts = {
  inspect: loadScript('inspect', ['shard', 'minute', 'window', 'key', 'key-answer', 'look'].map(fileOf), {
    writes: 'no',
  }),
} as const

function workerScript(name: string) {
  return loadScript(name.replaceAll('-', '_'), ['shard', 'minute', 'ending', 'copy', name].map(fileOf))
}

/** The head of each `.lua` file is its contract. */
function fileOf(name: string): URL {
  return new URL(`${name}.lua`, import.meta.url)
}
