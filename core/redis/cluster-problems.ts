import { type ClusterView, parseClusterNodes, planCluster } from './cluster-view.ts'
import type { RedisConnection, RedisServers } from './redis-connection.ts'
import { serverVersionOf } from './server-version.ts'

const slotCount = 16_384

/** What keeps a cluster from surviving a failure, or a part of it from serving. */
export const clusterProblems = [
  /** Slots that no running primary has, or that are in a migration by `SETSLOT`. */
  'uncovered_slots',
  /** Primaries whose loss would lose acknowledged charges with it: no replica has their data. */
  'no_synced_replica',
  /** Primaries that do not answer this process, for example because they lack its user. */
  'unreachable_primary',
  /** Primaries without atomic slot migration. */
  'unsupported_version',
] as const

/** How many slots or primaries have each problem. */
export type ClusterProblems = Readonly<Record<(typeof clusterProblems)[number], number>>

/** What a primary reports of itself. */
export type PrimaryReport = {
  readonly view: ClusterView
  /** `INFO server replication`. */
  readonly info: string
}

/** Asks every primary. One server has none of these problems. */
export async function readClusterProblems(
  redis: Pick<RedisServers, 'kind' | 'primaries'>,
): Promise<ClusterProblems> {
  if (redis.kind() === 'single') return problemsOf([], { unreachable: 0, slots: 0 })
  const primaries = redis.primaries()
  const ends = await Promise.allSettled(primaries.map(readPrimary))
  const reports = ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []))
  return problemsOf(reports, { unreachable: primaries.length - reports.length, slots: slotCount })
}

async function readPrimary(connection: RedisConnection): Promise<PrimaryReport> {
  const { host, port } = connection.redis.options
  const server = `${host}:${port}`
  const [nodes, info] = await connection.ask((redis) =>
    Promise.all([redis.cluster('NODES'), redis.info('server', 'replication')]),
  )
  return { view: { server, nodes: parseClusterNodes(String(nodes), server) }, info }
}

/** Counts the problems of `slots` slots. */
export function problemsOf(
  reports: readonly PrimaryReport[],
  { unreachable, slots }: { readonly unreachable: number; readonly slots: number },
): ClusterProblems {
  const own = reports.filter(({ view }) => nodesOf(view).some((node) => node.isSelf && node.slots.length > 0))
  return {
    uncovered_slots: countUncovered(
      reports.map(({ view }) => view),
      slots,
    ),
    no_synced_replica: own.filter(({ info }) => !/^slave\d+:.*state=online/m.test(info)).length,
    unreachable_primary: unreachable,
    unsupported_version: reports.filter(({ info }) => !serverVersionOf(info).movesAtomically).length,
  }
}

function countUncovered(views: readonly ClusterView[], slots: number): number {
  const plan = planCluster(views)
  if (plan.outcome === 'rejected') return slots
  const nodes = views.flatMap(nodesOf)
  const answering = new Set(nodes.flatMap(({ id, isSelf }) => (isSelf ? id : [])))
  const failing = new Set(nodes.flatMap(({ id, isFailing }) => (isFailing && !answering.has(id) ? id : [])))
  let count = 0
  for (let slot = 0; slot < slots; slot++) {
    const owner = plan.ownerOf(slot)
    if (owner === undefined || failing.has(owner.id)) count += 1
  }
  return count
}

function nodesOf({ nodes }: ClusterView) {
  return nodes === 'single' ? [] : nodes
}
