import { functionOf, loadLibrary, loadScript } from '../../redis/lua-files.ts'

// Files in the order in which each may use what the one before says.
const library = loadLibrary(
  [
    ...['shard', 'offer', 'minute', 'key', 'key-answer', 'ending'],
    ...['inspect', 'count', 'admit', 'settle', 'void', 'renew'],
  ].map(fileOf),
)

/** What gateways run: functions, the fastest way, which any gateway could replace for all of them, and for nobody else. */
export const gatewayScripts = {
  inspect: functionOf(library, 'inspect', { writes: 'no' }),
  count: functionOf(library, 'count'),
  admit: functionOf(library, 'admit'),
  settle: functionOf(library, 'settle', { sent: 'always' }),
  void: functionOf(library, 'void', { sent: 'always' }),
  renew: functionOf(library, 'renew', { sent: 'always' }),
} as const

/** What workers run, who may do more than gateways: whole texts, which nobody can replace. */
export const workerScripts = {
  sweep: workerScript('sweep'),
  apply: workerScript('apply'),
  project: workerScript('project'),
  openEpoch: workerScript('open-epoch'),
  recount: workerScript('recount'),
} as const

/** What the cabinet runs, which may only look. */
export const cabinetScripts = {
  inspect: loadScript('inspect', ['shard', 'minute', 'key', 'key-answer', 'look'].map(fileOf), {
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
