import { loadScript } from '../../redis/lua-files.ts'
import type { RedisServers } from '../../redis/redis-connection.ts'
import { oneOf } from '../../redis/script-reply.ts'
import { digestOf } from '../catalog-document.ts'
import { gatewaysNameOn, routesDigestNameOn, routesNameOn, routesRevisionNameOn } from '../catalog-names.ts'
import { findReport } from '../gateway-report.ts'

/** The state of catalogs in Redis. */
type PublishedCatalog = {
  /** `null`: none there, publish it again. */
  readonly revision: bigint | null
  /** The highest revision that is there or that a gateway serves: gateways follow higher ones only. */
  readonly followed: bigint
  /** `digestOf` what was published. */
  readonly digest: string | null
  readonly documentCount: number
}

/** The catalog in Redis, outside the shards. Every call throws `RedisUnavailable` on an outage, and may be sent again. */
export type CatalogCopy = {
  /**
   * Makes the catalog equal to `documents` (name → signed document) and announces the revision.
   *
   * `kept`: Redis has this revision or a newer one.
   */
  publishCatalog(revision: bigint, documents: ReadonlyMap<string, string>): Promise<'published' | 'kept'>
  /** The state of a catalog in Redis. */
  readCatalog(): Promise<PublishedCatalog>
}

const publish = loadScript('publish_catalog', [new URL('publish-catalog.lua', import.meta.url)])

/** The catalog of the Redis that `redis` leads to. */
export function createCatalogCopy(redis: RedisServers): CatalogCopy {
  return {
    async publishCatalog(revision, documents) {
      const keys = [routesNameOn(redis), routesRevisionNameOn(redis), routesDigestNameOn(redis)]
      const args = [String(revision), digestOf(documents), ...[...documents].flat()]
      const read = (answer: unknown) => oneOf(answer, ['published', 'kept'])
      return await redis.common().run(publish, keys, args, read)
    },
    async readCatalog() {
      const [text, digest, documentCount, heartbeats] = await redis
        .common()
        .ask((commands) =>
          Promise.all([
            commands.get(routesRevisionNameOn(redis)),
            commands.get(routesDigestNameOn(redis)),
            commands.hlen(routesNameOn(redis)),
            commands.hvals(gatewaysNameOn(redis)),
          ]),
        )
      const revision = text === null ? null : BigInt(text)
      const served = heartbeats.map((heartbeat) => findReport(heartbeat)?.revision ?? 0n)
      const [followed = 0n] = [revision ?? 0n, ...served].toSorted((one, other) => (one > other ? -1 : 1))
      return { revision, followed, digest, documentCount }
    },
  }
}
