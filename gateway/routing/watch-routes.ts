import { setTimeout as pause } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { gatewaysName, routesName, routesRevisionName } from '#cabinet/catalogue/catalogue-names'
import { type GatewayReport, writeReport } from '#cabinet/catalogue/gateway-report'
import { createLiveGateways } from '#cabinet/catalogue/live-gateways'
import { type RedisConnection, RedisUnavailable } from '#cabinet/redis/redis-connection'
import type { SignedDocuments } from './read-route-table.ts'
import type { RouteTable } from './route-table.ts'

/** How stale a catalogue may be when its announcement was lost: it is served within this and one read. */
const pollMs = 250
/** Time between two heartbeats of which the second says nothing new. */
const heartbeatMs = 2000

export type RouteWatch = {
  /** What is served now; `undefined` until a catalogue has been read that can be used. */
  current(): RouteTable | undefined
  /** Gateways that live, this one included; as last known while Redis is away. */
  liveGateways(): number
  /** Names of those that may live, this one included, as last known; none until this gateway serves, or when it leaves. */
  gateways(): readonly string[]
  /**
   * Takes this gateway off the list of the living and follows the catalogue on: it takes nobody new, and the others
   * need not leave it a share of what providers allow for as long as its last answer runs.
   */
  leave(): void
  /** Ends the watch, and leaves. */
  stop(): Promise<void>
}

export type RouteWatchOptions = {
  /** Its own: reading 10,000 routes takes longer than a request may wait. */
  readonly connection: RedisConnection
  /** `undefined`: nothing of it can be used; what was served is served on. */
  readonly read: (revision: string, documents: SignedDocuments) => RouteTable | undefined
  /** Names this replica among the gateways. */
  readonly instanceId: string
  /** What this gateway cannot use now, and why, and who has answered it: part of its heartbeat. */
  readonly health: () => Omit<GatewayReport, 'revision'>
  /** Hears of each catalogue that is served from now on. */
  readonly onTable: (table: RouteTable) => void
  /** Hears of whatever kept a look from succeeding; the last catalogue is served on. */
  readonly onError: (error: unknown) => void
  readonly nowMs: () => number
}

/**
 * Follows the catalogue in Redis and tells Redis which revision this gateway serves and what it cannot use.
 *
 * A revision that is absent or older than the one served changes nothing: Redis has lost it, and the projection will
 * write it again. Nor does Redis being away.
 */
export function watchRoutes(options: RouteWatchOptions): RouteWatch {
  const { connection, instanceId, nowMs } = options
  let table: RouteTable | undefined
  let readRevision: string | undefined // also of a catalogue that could not be used: it is not read again
  let told = { atMs: Number.NEGATIVE_INFINITY, news: '' }
  let alarm = new AbortController()
  let isLeaving = false
  let hasLeft = false
  let isStopped = false
  const live = createLiveGateways()
  let liveCount = 1
  let gateways: readonly string[] = []

  async function look(): Promise<void> {
    const revision = await connection.ask((redis) => redis.get(routesRevisionName))
    if (isNewer(revision, readRevision)) {
      const catalogue = await readCatalogue(connection)
      const next = options.read(...catalogue)
      readRevision = catalogue[0]
      if (next !== undefined) options.onTable(next)
      table = next ?? table
    }
    if (isLeaving) await takeBack()
    else if (table !== undefined) await tell(table)
  }

  async function takeBack(): Promise<void> {
    if (hasLeft) return
    await connection.ask((redis) => redis.hdel(gatewaysName, instanceId))
    hasLeft = true
  }

  /** Tells what is new at once, and that this gateway lives now and then; learns who else does. */
  async function tell({ revision }: RouteTable): Promise<void> {
    const atMs = nowMs()
    const report = { revision: BigInt(revision), ...options.health() }
    const news = writeReport(report, 0)
    if (news === told.news && atMs - told.atMs < heartbeatMs) return
    await connection.ask((redis) => redis.hset(gatewaysName, instanceId, writeReport(report, atMs)))
    told = { atMs, news }
    const gone = live.note(await connection.ask((redis) => redis.hgetall(gatewaysName)), atMs)
    liveCount = live.count(atMs)
    gateways = [...live.lives(atMs)].flatMap(([instance, life]) => (life === 'silent' ? [] : [instance]))
    if (gone.length > 0) await connection.ask((redis) => redis.hdel(gatewaysName, ...gone))
  }

  async function follow(): Promise<void> {
    while (!isStopped) {
      alarm = new AbortController() // what is announced during a look leads to another one
      await look().catch(options.onError)
      await pause(pollMs, undefined, { signal: alarm.signal }).catch(() => undefined)
    }
  }

  const ended = follow()
  const listener = listenFor(routesRevisionName, connection, () => alarm.abort())
  return {
    current: () => table,
    liveGateways: () => liveCount,
    gateways: () => (isLeaving ? [] : gateways),
    leave() {
      isLeaving = true
      alarm.abort()
    },
    async stop() {
      isStopped = true
      listener.disconnect()
      alarm.abort()
      await ended
      try {
        await takeBack()
      } catch (error) {
        if (!(error instanceof RedisUnavailable)) throw error // an old heartbeat says by itself that we are gone
      }
    },
  }
}

/** Hears what is published on a channel, on a connection of its own. What is missed while that is away is polled. */
function listenFor(channel: string, { redis }: RedisConnection, onMessage: () => void): Redis {
  const listener = redis.duplicate({
    connectionName: `${redis.options.connectionName}-hints`,
    autoResubscribe: false,
  })
  listener.on('error', () => undefined) // the other connection has said it
  listener.on('message', onMessage)
  listener.on('ready', () => {
    listener.subscribe(channel).then(onMessage, () => undefined)
  })
  return listener
}

function isNewer(revision: string | null, known: string | undefined): revision is string {
  if (revision === null || !/^\d+$/.test(revision)) return false
  return known === undefined || BigInt(revision) > BigInt(known)
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
  if (typeof revision !== 'string')
    throw new RedisUnavailable('the catalogue disappeared from Redis while it was being read')
  return [revision, documents as SignedDocuments]
}
