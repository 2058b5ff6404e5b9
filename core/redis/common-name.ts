import type { RedisServers } from './redis-connection.ts'

/** Hash tag of everything outside the shards, on a cluster. It resembles no tag of a shard. */
export const commonTag = 'common'

/**
 * A name outside the shards: `mg:routes`, or `mg:{common}:routes` on a cluster, where the names of one command must share a
 * hash tag.
 */
export function commonName(redis: Pick<RedisServers, 'kind'>, rest: string): string {
  return redis.kind() === 'cluster' ? `mg:{${commonTag}}:${rest}` : `mg:${rest}`
}
