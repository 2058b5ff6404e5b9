import { connectRedis, type RedisConnection } from '#core/redis/redis-connection'
import { type RedisServer, startRedis } from '#standalone/redis'
import { startRedisCluster } from '../support/redis-cluster.ts'
import { redisLogins } from '../support/redis-logins.ts'

/** Where admission runs: one Redis, or a cluster of six. */
export type RedisPlace = {
  /** As a `REDIS_URL`; everything is allowed. */
  readonly url: string
  readonly kind: 'single' | 'cluster'
  /** The server that a fault hits: the only one, or the primary of some shards. `undefined`: there is none right now. */
  serverAt(place: number): Promise<RedisServer | undefined>
  /** Resolves once every server runs, and each replica has the data of its primary. */
  untilWhole(): Promise<void>
  dispose(): Promise<void>
}

const slotCount = 16_384

export async function startRedisPlace(kind: RedisPlace['kind']): Promise<RedisPlace> {
  if (kind === 'cluster') {
    const cluster = await startRedisCluster()
    return {
      kind,
      url: cluster.url,
      serverAt: (place) => cluster.primaryOf(Math.floor(place * slotCount)),
      untilWhole: cluster.untilWhole,
      dispose: cluster.dispose,
    }
  }
  const redis = await startRedis({ appendonly: 'yes', logins: redisLogins })
  return {
    kind,
    url: redis.url,
    serverAt: async () => redis,
    untilWhole: async () => undefined,
    dispose: () => redis[Symbol.asyncDispose](),
  }
}

const askedWithinMs = 2_000

/** Asks one server, as the user who may do everything. */
export async function askServer<Answer>(
  server: RedisServer,
  ask: (redis: RedisConnection['redis']) => Promise<Answer>,
): Promise<Answer> {
  const connection = connectRedis(server.url, { name: 'chaos', timeoutMs: askedWithinMs })
  try {
    await connection.connected(askedWithinMs)
    return await connection.ask(ask)
  } finally {
    connection.close()
  }
}
