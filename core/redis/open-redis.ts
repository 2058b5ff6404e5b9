import { type FollowedCluster, followCluster } from './internal/follow-cluster.ts'
import {
  connectRedis,
  type RedisConnection,
  type RedisOptions,
  type RedisServers,
  serverOf,
  urlAt,
} from './redis-connection.ts'

/** URLs of one server, or of nodes of one cluster: any of them, as many as find it when some are down. */
export type RedisUrls = readonly [string, ...string[]]

/**
 * Connects to the Redis of the shards and the catalog, and stays connected. A server that reports `cluster_enabled:1`
 * leads to the cluster that it belongs to.
 *
 * What keeps a cluster from being used, for example nodes of two, goes to `onError` as one sentence. Until it is
 * corrected, every call throws `RedisUnavailable`.
 */
export function openRedis(urls: RedisUrls, options: RedisOptions): RedisServers {
  const [firstUrl, ...otherUrls] = urls
  const isAlone = otherUrls.length === 0
  let cluster: FollowedCluster | undefined
  const connect = (url: string, onKind?: (kind: 'single' | 'cluster') => void) =>
    connectRedis(url, options, {
      onMoved: (reply) => (reply === 'MOVED' ? cluster?.noteMoved(serverOf(url)) : cluster?.look()),
      ...(onKind && { onKind }),
    })
  const first = connect(firstUrl, isAlone ? noteKind : undefined)
  const seeds = new Map([[serverOf(firstUrl), first]])
  for (const url of otherUrls) if (!seeds.has(serverOf(url))) seeds.set(serverOf(url), connect(url))
  if (!isAlone) cluster = follow()

  function follow(): FollowedCluster {
    return followCluster({
      seeds,
      first,
      connectTo: (server) => connect(urlAt(firstUrl, server)),
      onProblem: (why) => options.onError?.(new Error(why), serverOf(firstUrl)),
    })
  }

  function noteKind(kind: 'single' | 'cluster'): void {
    if (kind === 'cluster') cluster ??= follow()
    else {
      cluster?.close()
      cluster = undefined
    }
  }

  const current = (): RedisServers => cluster ?? first
  return {
    connectionOf: (shard) => current().connectionOf(shard),
    common: () => current().common(),
    servers: () => current().servers(),
    primaries: () => current().primaries(),
    yieldedBy: (shard) => current().yieldedBy(shard),
    isMoving: (shard) => current().isMoving(shard),
    kind: () => current().kind(),
    async connected(timeoutMs) {
      const untilMs = performance.now() + timeoutMs
      await oneConnected([...seeds.values()], timeoutMs)
      await cluster?.connected(Math.max(0, untilMs - performance.now()))
    },
    close() {
      cluster?.close()
      for (const seed of seeds.values()) seed.close()
    },
  }
}

async function oneConnected(seeds: readonly RedisConnection[], timeoutMs: number): Promise<void> {
  try {
    await Promise.any(seeds.map((seed) => seed.connected(timeoutMs)))
  } catch (error) {
    throw error instanceof AggregateError ? error.errors[0] : error
  }
}
