import { commonName } from '../redis/common-name.ts'
import type { RedisServers } from '../redis/redis-connection.ts'

/** Hash of signed documents: `route:<model>` and `provider:<name>`. Outside the shards, as all of these. */
export function routesNameOn(redis: Pick<RedisServers, 'kind'>): string {
  return commonName(redis, 'routes')
}

/** Revision of the routes, from Postgres; also the pub/sub channel that announces it. */
export function routesRevisionNameOn(redis: Pick<RedisServers, 'kind'>): string {
  return commonName(redis, 'routes:rev')
}

/** Digest of the content of the routes, as a whole. */
export function routesDigestNameOn(redis: Pick<RedisServers, 'kind'>): string {
  return commonName(redis, 'routes:digest')
}

/** Hash of live gateways: instance id → the routes revision it serves and when it reported that. */
export function gatewaysNameOn(redis: Pick<RedisServers, 'kind'>): string {
  return commonName(redis, 'gateways')
}
