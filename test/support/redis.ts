import { afterAll } from 'vitest'
import { type RedisServer, startRedis } from '#standalone/redis'
import { clusterAsServer, redisClusterOfThisFile } from './redis-cluster.ts'
import { redisLogins } from './redis-logins.ts'

let cluster: Promise<RedisServer> | undefined

/** From now on `redisOfThisFile` is a cluster with a `url` of all its nodes; for the tests that this file imports. */
export function clusterInThisFile(): void {
  cluster = redisClusterOfThisFile().then(clusterAsServer)
}

/**
 * A Redis for this test file only, which ends with it; at its `url` everything is allowed. Nothing on disk
 * unless `appendonly` is set.
 *
 * `TEST_REDIS_SERVER` names another server program, to try all tests on Valkey.
 */
export async function redisOfThisFile(
  options: { readonly appendonly?: 'yes' | 'no'; readonly maxmemory?: string } = {},
): Promise<RedisServer> {
  if (cluster !== undefined) return await cluster
  const server = process.env.TEST_REDIS_SERVER
  const redis = await startRedis({
    appendonly: 'no',
    logins: redisLogins,
    ...(server === undefined ? {} : { server }),
    ...options,
  })
  afterAll(() => redis[Symbol.asyncDispose]())
  return redis
}
