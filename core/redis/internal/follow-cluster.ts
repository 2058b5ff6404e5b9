import { type ClusterPlan, type ClusterView, parseClusterNodes, planCluster } from '../cluster-view.ts'
import { type RedisConnection, type RedisServers, RedisUnavailable } from '../redis-connection.ts'
import { allShards, type Shard } from '../shard.ts'
import { commonSlot, slotOfShard } from '../shard-slots.ts'
import { createShardMoves } from './shard-moves.ts'

/** How soon a failover is noticed without a call that is redirected. */
const lookEveryMs = 250
/** Between two looks, however many calls are redirected. */
const lookAgainMs = 20
/** A frozen server must not delay what the others say. */
const viewTimeoutMs = 200
const viewKeptMs = 1_000

type Deps = {
  /** Connections that stay, whatever their servers are, by host and port. */
  readonly seeds: ReadonlyMap<string, RedisConnection>
  readonly first: RedisConnection
  readonly connectTo: (server: string) => RedisConnection
  /** Called when the servers begin to be unusable together, with one sentence. */
  readonly onProblem: (why: string) => void
}

/** The servers of a cluster, followed. */
export type FollowedCluster = RedisServers & {
  /** Looks soon at which server has what. */
  look(): void
  /** This server replied that it has handed a slot over. Looks soon. */
  noteMoved(server: string): void
}

/**
 * One connection for each primary of a cluster, each with its own run id, time limit and circuit breaker.
 *
 * Not ioredis's Cluster: it sends a call up to 16 times, and passes one server's run id to another, where an old epoch
 * accepts it. Here a redirected call has not run, and its caller decides.
 *
 * `close` leaves the seeds open.
 */
export function followCluster(deps: Deps): FollowedCluster {
  const nowhere = unavailable(deps.first)
  const links = createLinks(deps)
  let owners: readonly RedisConnection[] = allShards.map(() => nowhere)
  let common = nowhere
  let primaries: readonly RedisConnection[] = []
  let yieldedBy: (slot: number) => readonly string[] = () => []
  let problem: string | undefined
  const found = Promise.withResolvers<void>()
  const moves = createShardMoves(() => performance.now())
  const memory = createMemory()

  function adopt(plan: ClusterPlan): void {
    const news = plan.outcome === 'rejected' ? plan.why : undefined
    if (news !== undefined && news !== problem) deps.onProblem(news)
    problem = news
    const linkOf = (slot: number) => {
      const owner = plan.outcome === 'found' ? plan.ownerOf(slot) : undefined
      return owner === undefined ? nowhere : links.to(owner.server)
    }
    const before = owners
    owners = allShards.map((shard) => linkOf(slotOfShard(shard)))
    common = linkOf(commonSlot)
    yieldedBy = plan.outcome === 'found' ? plan.yieldedBy : () => []
    if (moves.note(before, owners)) setImmediate(looks.soon) // the former server may not know it yet
    primaries = plan.outcome === 'found' ? plan.primaries.map(({ server }) => links.to(server)) : []
    links.keepOnly(new Set([common, ...owners, ...primaries]))
    found.resolve()
  }

  const looks = lookOften(async (isStopped) => {
    const views = await Promise.all(links.all().map(([server, link]) => readView(server, link)))
    // Of a cluster that shows nothing, the last state counts.
    if (!isStopped() && views.some((view) => view !== undefined)) adopt(planCluster(memory.with(views)))
  })
  const servers = () => [...new Set([common, ...owners])].filter((link) => link !== nowhere)
  const ownerOf = (shard: Shard) => owners[shard] ?? nowhere
  const hasYielded = (shard: Shard) => (from: unknown) =>
    yieldedBy(slotOfShard(shard)).some((server) => links.at(server) === from)
  return {
    connectionOf: ownerOf,
    common: () => common,
    servers,
    primaries: () => primaries,
    yieldedBy: (shard) => moves.yieldedBy(shard, ownerOf(shard), hasYielded(shard)),
    isMoving: (shard) => moves.isMoving(shard, ownerOf(shard), hasYielded(shard)),
    kind: () => 'cluster',
    look: looks.soon,
    noteMoved(server) {
      const link = links.at(server)
      if (link !== undefined) moves.noteServer(link)
      looks.soon()
    },
    async connected(timeoutMs) {
      const untilMs = performance.now() + timeoutMs
      await within(found.promise, timeoutMs)
      if (owners.includes(nowhere)) throw new RedisUnavailable(problem ?? 'some shards have no server', 'no')
      await Promise.all(servers().map((link) => link.connected(Math.max(0, untilMs - performance.now()))))
    },
    close() {
      looks.stop()
      links.close()
    },
  }
}

/** Remembers each server's view for a second: one that is slow must not seem to have ended a migration. */
function createMemory() {
  const seen = new Map<string, { readonly view: ClusterView; readonly atMs: number }>()
  return {
    with(views: readonly (ClusterView | undefined)[]): readonly ClusterView[] {
      const nowMs = performance.now()
      for (const view of views) if (view !== undefined) seen.set(view.server, { view, atMs: nowMs })
      for (const [server, { atMs }] of seen) if (nowMs - atMs > viewKeptMs) seen.delete(server)
      return [...seen.values()].map(({ view }) => view)
    },
  }
}

/** Connections by host and port. */
function createLinks({ seeds, connectTo }: Deps) {
  const links = new Map(seeds)
  let leaving: ReadonlySet<string> = new Set()
  const close = (server: string) => {
    links.get(server)?.close()
    links.delete(server)
  }
  return {
    all: () => [...links],
    at: (server: string) => links.get(server),
    to(server: string): RedisConnection {
      const known = links.get(server)
      if (known !== undefined) return known
      const link = connectTo(server)
      links.set(server, link)
      return link
    },
    /** Closes connections that were not used at the last call either: their last replies have come. */
    keepOnly(used: ReadonlySet<RedisConnection>): void {
      const unused = [...links].flatMap(([server, link]) =>
        used.has(link) || seeds.has(server) ? [] : [server],
      )
      for (const server of unused) if (leaving.has(server)) close(server)
      leaving = new Set(unused)
    },
    close(): void {
      for (const server of [...links.keys()]) if (!seeds.has(server)) close(server)
    },
  }
}

/** Looks periodically, and soon when asked; one look at a time. */
function lookOften(look: (isStopped: () => boolean) => Promise<void>) {
  let isLooking = false
  let isStopped = false
  let lookedAtMs = Number.NEGATIVE_INFINITY
  let again: NodeJS.Timeout | undefined

  async function lookNow(): Promise<void> {
    isLooking = true
    lookedAtMs = performance.now()
    await look(() => isStopped)
    isLooking = false
  }

  function soon(): void {
    if (isLooking || isStopped || again !== undefined) return
    const waitMs = lookedAtMs + lookAgainMs - performance.now()
    if (waitMs <= 0) return void lookNow()
    again = setTimeout(() => {
      again = undefined
      soon()
    }, waitMs)
    again.unref()
  }

  const timer = setInterval(soon, lookEveryMs)
  timer.unref() // the sockets keep the process alive
  soon()
  return {
    soon,
    stop(): void {
      isStopped = true
      clearInterval(timer)
      clearTimeout(again)
    },
  }
}

/** `undefined`: it does not answer now. */
async function readView(server: string, link: RedisConnection): Promise<ClusterView | undefined> {
  try {
    const text = await within(
      link.ask((redis) => redis.cluster('NODES')),
      viewTimeoutMs,
    )
    return { server, nodes: parseClusterNodes(String(text), server) }
  } catch (error) {
    const isSingle = error instanceof Error && error.message.includes('cluster support disabled')
    return isSingle ? { server, nodes: 'single' } : undefined
  }
}

async function within<Result>(result: Promise<Result>, ms: number): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new RedisUnavailable(`nothing within ${ms} ms`)), ms)
  })
  try {
    return await Promise.race([result, late])
  } finally {
    clearTimeout(timer)
  }
}

/** In place of the server of a slot that no server has. Sends nothing. */
function unavailable(of: RedisConnection): RedisConnection {
  const refuse = () => Promise.reject(new RedisUnavailable('no server of the cluster has this slot', 'no'))
  const connection: RedisConnection = {
    ...of,
    connectionOf: () => connection,
    common: () => connection,
    servers: () => [],
    primaries: () => [],
    kind: () => 'cluster',
    runId: () => undefined,
    circuitIsOpen: () => true,
    connectionNumber: () => 0,
    ask: refuse,
    run: refuse,
    runInLane: refuse,
    connected: refuse,
    close: () => undefined,
  }
  return connection
}
