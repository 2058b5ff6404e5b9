import type { ClusterNode } from '#core/redis/cluster-view'
import { serverVersionOf } from '#core/redis/server-version'

/** What one node reports about itself: `INFO`, and the settings that `CONFIG GET` returns. */
export type NodeReport = {
  readonly server: string
  readonly info: string
  readonly settings: Readonly<Record<string, string>>
}

/** Settings that are checked; a managed cluster may hide them. */
export const checkedSettings = [
  'cluster-require-full-coverage',
  'cluster-node-timeout',
  'maxmemory',
  'maxmemory-policy',
  'appendonly',
] as const

const slotCount = 16_384

/**
 * The reason for which a cluster must not be used, as one sentence; `undefined`: none.
 *
 * @param openingDelayMs how long a shard stays closed after a failover. A primary that was cut off must stop writing
 * before that.
 */
export function problemOf(
  nodes: readonly ClusterNode[],
  reports: readonly NodeReport[],
  openingDelayMs: number,
): string | undefined {
  return uncoveredIn(nodes) ?? firstOf(reports.map((report) => problemOfNode(report, openingDelayMs)))
}

function uncoveredIn(nodes: readonly ClusterNode[]): string | undefined {
  const covered = nodes
    .filter(({ isPrimary }) => isPrimary)
    .flatMap(({ slots }) => slots)
    .reduce((sum, [first, last]) => sum + last - first + 1, 0)
  return covered === slotCount
    ? undefined
    : `The cluster serves ${covered} of ${slotCount} slots: assign the others to a primary.`
}

function problemOfNode({ server, info, settings }: NodeReport, openingDelayMs: number): string | undefined {
  const nodeTimeoutMs = settings['cluster-node-timeout']
  return firstOf([
    versionProblem(server, info),
    settings['cluster-require-full-coverage'] === 'yes'
      ? `${server} has cluster-require-full-coverage yes, so the failure of one primary would stop all: set it to no.`
      : undefined,
    nodeTimeoutMs !== undefined && Number(nodeTimeoutMs) >= openingDelayMs
      ? `${server} has cluster-node-timeout ${nodeTimeoutMs}, but shards open ${openingDelayMs} ms after a failover: set a shorter one, for example 2000.`
      : undefined,
    Number(settings.maxmemory ?? 0) > 0 && (settings['maxmemory-policy'] ?? 'noeviction') !== 'noeviction'
      ? `${server} evicts data when it is full: set its maxmemory-policy to noeviction.`
      : undefined,
    settings.appendonly === 'no'
      ? `${server} has no append-only file, so a restart would lose charges: set its appendonly to yes.`
      : undefined,
  ])
}

function versionProblem(server: string, info: string): string | undefined {
  const { name, movesAtomically } = serverVersionOf(info)
  if (movesAtomically) return undefined
  return `${server} runs ${name}: a cluster needs Valkey 9.0 or Redis 8.4, or newer.`
}

function firstOf(problems: readonly (string | undefined)[]): string | undefined {
  return problems.find((problem) => problem !== undefined)
}
