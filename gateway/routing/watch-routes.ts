import { type RedisConnection, RedisUnavailable } from '#cabinet/redis-connection'
import { gatewaysName, routesName, routesRevisionName } from '#cabinet/shard'
import { createLiveGateways } from './live-gateways.ts'
import type { SignedDocuments } from './read-route-table.ts'
import type { RouteTable } from './route-table.ts'

/** How stale a catalogue may be, milliseconds: a change is served by every gateway within this and one read. */
const pollMs = 250
/** Time between two heartbeats. */
const heartbeatMs = 2000

export type RouteWatch = {
  /** What is served now; `undefined` until a catalogue has been read. */
  current(): RouteTable | undefined
  /** Gateways that live, this one included; as last known while Redis is away. */
  liveGateways(): number
  /** Ends the watch and takes this gateway off the list of the living. */
  stop(): Promise<void>
}

export type RouteWatchOptions = {
  /** Its own: reading 10,000 routes takes longer than a request may wait. */
  readonly connection: RedisConnection
  readonly read: (revision: string, documents: SignedDocuments) => RouteTable
  /** Names this replica among the gateways. */
  readonly instanceId: string
  /** Hears of each catalogue that is served from now on. */
  readonly onTable: (table: RouteTable) => void
  /** Hears of whatever kept a look from succeeding; the last catalogue is served on. */
  readonly onError: (error: unknown) => void
  readonly nowMs: () => number
}

/**
 * Follows the catalogue in Redis and tells Redis which revision this gateway serves.
 *
 * A revision that is absent or older than the one served changes nothing: Redis has lost it, and the projection will
 * write it again. Nor does Redis being away.
 */
export function watchRoutes(options: RouteWatchOptions): RouteWatch {
  const { connection, instanceId, nowMs } = options
  let table: RouteTable | undefined
  let toldAtMs = Number.NEGATIVE_INFINITY
  let timer: NodeJS.Timeout | undefined
  let isStopped = false
  const live = createLiveGateways()
  let liveCount = 1

  async function look(): Promise<void> {
    const revision = await connection.ask((redis) => redis.get(routesRevisionName))
    if (isNewer(revision, table)) {
      table = options.read(...(await readCatalogue(connection)))
      toldAtMs = Number.NEGATIVE_INFINITY // whoever waits for this revision learns of it at once
      options.onTable(table)
    }
    if (table === undefined || nowMs() - toldAtMs < heartbeatMs) return
    toldAtMs = nowMs()
    const heartbeat = JSON.stringify({ revision: table.revision, atMs: toldAtMs })
    await connection.ask((redis) => redis.hset(gatewaysName, instanceId, heartbeat))
    const gone = live.note(await connection.ask((redis) => redis.hgetall(gatewaysName)), toldAtMs)
    liveCount = live.count(toldAtMs)
    if (gone.length > 0) await connection.ask((redis) => redis.hdel(gatewaysName, ...gone))
  }

  async function follow(): Promise<void> {
    try {
      await look()
    } catch (error) {
      options.onError(error)
    }
    if (!isStopped) timer = setTimeout(() => void follow(), pollMs)
  }

  void follow()
  return {
    current: () => table,
    liveGateways: () => liveCount,
    async stop() {
      isStopped = true
      clearTimeout(timer)
      try {
        await connection.ask((redis) => redis.hdel(gatewaysName, instanceId))
      } catch (error) {
        if (!(error instanceof RedisUnavailable)) throw error // an old heartbeat says by itself that we are gone
      }
    },
  }
}

function isNewer(revision: string | null, table: RouteTable | undefined): revision is string {
  if (revision === null || !/^\d+$/.test(revision)) return false
  return table === undefined || BigInt(revision) > BigInt(table.revision)
}

/** Revision and documents of one moment: they are written together and read together. */
async function readCatalogue(
  connection: RedisConnection,
): Promise<[revision: string, documents: SignedDocuments]> {
  const replies = await connection.ask((redis) =>
    redis.multi().get(routesRevisionName).hgetall(routesName).exec(),
  )
  const [revision, documents] = (replies ?? []).map(([error, reply]) => {
    if (error !== null) throw error
    return reply
  })
  if (typeof revision !== 'string') throw new RedisUnavailable('the catalogue vanished while it was read')
  return [revision, documents as SignedDocuments]
}
