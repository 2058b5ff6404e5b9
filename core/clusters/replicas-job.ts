import type { Pool } from 'pg'
import { gatewaysNameOn } from '../catalog/catalog-names.ts'
import { findReport } from '../catalog/gateway-report.ts'
import { createLiveGateways, type LiveGateways } from '../catalog/live-gateways.ts'
import { jsonWithBigints } from '../ledger/money.ts'
import type { Job } from '../process/job.ts'
import type { RedisServers } from '../redis/redis-connection.ts'
import { type Replica, writeReplicas } from './replicas.ts'

/** Delay until Postgres records that a gateway serves a route; costs one small read of Redis. */
const everyMs = 100
/** How often an unchanged report is written again: another worker or a person may have changed the rows. */
const tellAgainMs = 10_000

type Deps = {
  readonly pool: Pool
  readonly redis: RedisServers
  /** `performance.now`. */
  readonly now: () => number
}

/**
 * Writes to Postgres which gateways are live, the revision each serves and what it cannot use, whenever that changed.
 * Any number of workers may do so: they all see the same heartbeats.
 */
export function replicasJob(deps: Deps): Job {
  return { name: 'replicas', everyMs, run: createReplicaReport(deps) }
}

function createReplicaReport({ pool, redis, now }: Deps): () => Promise<'idle'> {
  const gateways = createLiveGateways()
  let told = { atMs: Number.NEGATIVE_INFINITY, news: '' }
  return async () => {
    const heartbeats = await redis.common().ask((client) => client.hgetall(gatewaysNameOn(redis)))
    const nowMs = now()
    gateways.note(heartbeats, nowMs)
    const found = sortGateways(heartbeats, gateways, nowMs)
    const news = jsonWithBigints(found)
    if (news === told.news && nowMs - told.atMs < tellAgainMs) return 'idle'
    await writeReplicas(pool, found)
    told = { atMs: nowMs, news }
    return 'idle'
  }
}

/** A gateway whose heartbeat cannot be read is of another version and is not counted. */
function sortGateways(heartbeats: Readonly<Record<string, string>>, gateways: LiveGateways, nowMs: number) {
  const live: Replica[] = []
  const unsure: string[] = []
  for (const [id, life] of gateways.lives(nowMs)) {
    const report = findReport(heartbeats[id] ?? '')
    if (life === 'live' && report !== undefined) live.push({ id, ...report })
    if (life === 'unsure') unsure.push(id)
  }
  return { live, unsure }
}
