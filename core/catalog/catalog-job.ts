import type { Pool } from 'pg'
import { Gauge, type Registry } from 'prom-client'
import type { Job } from '../process/job.ts'
import type { KeyList } from '../process/key-list.ts'
import type { Log } from '../process/log.ts'
import { createRestingWork } from '../process/rest.ts'
import type { RedisServers } from '../redis/redis-connection.ts'
import { createCatalogPublisher } from './internal/publish-catalog.ts'
import { createCatalogCopy } from './internal/published-catalog.ts'

/** A change is in Redis at most this long after its commit, even if its hint was lost. */
const everyMs = 500
/** A burst of changes is copied in a few runs; a single change does not wait. */
const restMs = 20
const compareEveryMs = 60_000
/** Share of the time that copying a large catalog may take: Redis, gateways and the worker have other work. */
const publishingShareMax = 0.2

type Deps = {
  readonly pool: Pool
  readonly redis: RedisServers
  readonly routesSigningKeys: KeyList<string>
  readonly registry: Registry
  readonly log: Log
  /** `performance.now`. */
  readonly now: () => number
}

/** Keeps the catalog in Redis that of Postgres. */
export function catalogJob({ pool, redis, routesSigningKeys, registry, log, now }: Deps): Job {
  const unpricedModels = new Gauge({
    name: 'model_gateway_unpriced_models',
    help: 'Routes that cannot be called because they have no price and are not free.',
    registers: [registry],
  })
  const publish = createCatalogPublisher({
    pool,
    catalogCopy: createCatalogCopy(redis),
    routesSigningKeys,
    compareEveryMs,
    now,
    onLifted: (revision) =>
      log.warn(
        { revision: String(revision) },
        'Redis has a catalog that Postgres does not have; publishing again above this revision',
      ),
    onUnpriced: (models) => {
      unpricedModels.set(models.length)
      if (models.length > 0)
        log.error({ models }, 'these routes cannot be called: they have no price and are not free')
    },
  })
  const publishing = createRestingWork(publishingShareMax, now)
  return {
    name: 'catalogue',
    everyMs,
    restMs,
    wokenBy: ['catalogue'],
    async run() {
      await publishing(publish) // changes made while it rests are seen by the next run
      return 'idle'
    },
  }
}
