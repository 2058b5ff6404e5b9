import { loadScript } from '../../redis/lua-files.ts'
import type { RedisConnection } from '../../redis/redis-connection.ts'
import { oneOf } from '../../redis/script-reply.ts'
import { digestOf } from '../catalogue-document.ts'
import { gatewaysName, routesDigestName, routesName, routesRevisionName } from '../catalogue-names.ts'
import { findReport } from '../gateway-report.ts'

/** What Redis knows of catalogues. */
type PublishedCatalogue = {
  /** `null`: none there, publish it again. */
  readonly revision: bigint | null
  /** The highest revision that is there or that a gateway serves: gateways follow higher ones only. */
  readonly followed: bigint
  /** `digestOf` what was published. */
  readonly digest: string | null
  readonly documentCount: number
}

/** The catalogue in Redis, outside the shards. Every call throws `RedisUnavailable` on an outage, and may be sent again. */
export type CatalogueCopy = {
  /**
   * Makes the catalogue what `documents` says (name → signed document) and announces the revision.
   *
   * `kept`: Redis has this revision or a newer one.
   */
  publishCatalogue(revision: bigint, documents: ReadonlyMap<string, string>): Promise<'published' | 'kept'>
  /** What Redis has of a catalogue. */
  readCatalogue(): Promise<PublishedCatalogue>
}

const publish = loadScript('publish_catalogue', [new URL('publish-catalogue.lua', import.meta.url)])

/** The catalogue of the Redis that `connection` leads to. */
export function createCatalogueCopy(connection: RedisConnection): CatalogueCopy {
  return {
    async publishCatalogue(revision, documents) {
      const keys = [routesName, routesRevisionName, routesDigestName]
      const args = [String(revision), digestOf(documents), ...[...documents].flat()]
      const read = (answer: unknown) => oneOf(answer, ['published', 'kept'])
      return await connection.run(publish, keys, args, read)
    },
    async readCatalogue() {
      const [text, digest, documentCount, heartbeats] = await connection.ask((redis) =>
        Promise.all([
          redis.get(routesRevisionName),
          redis.get(routesDigestName),
          redis.hlen(routesName),
          redis.hvals(gatewaysName),
        ]),
      )
      const revision = text === null ? null : BigInt(text)
      const served = heartbeats.map((heartbeat) => findReport(heartbeat)?.revision ?? 0n)
      const [followed = 0n] = [revision ?? 0n, ...served].toSorted((one, other) => (one > other ? -1 : 1))
      return { revision, followed, digest, documentCount }
    },
  }
}
