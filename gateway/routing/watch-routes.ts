import { setTimeout as pause } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { gatewaysNameOn, routesNameOn, routesRevisionNameOn } from '#core/catalog/catalog-names'
import { type GatewayReport, writeReport } from '#core/catalog/gateway-report'
import { createLiveGateways } from '#core/catalog/live-gateways'
import { version } from '#core/process/version'
import { type RedisConnection, type RedisServers, RedisUnavailable } from '#core/redis/redis-connection'
import type { SignedDocuments } from './read-route-table.ts'
import { pricedAt, type RouteTable } from './route-table.ts'

/** How stale a catalog may be when its announcement was lost: it is served within this and one read. */
const pollMs = 250
/** Time between two heartbeats if nothing has changed. */
const heartbeatMs = 2000

export type RouteWatch = {
  /** The current table with the prices of this moment; `undefined` until a usable catalog has been read. */
  current(): RouteTable | undefined
  /** Gateways that live, this one included; as last known while Redis is unavailable. */
  liveGateways(): number
  /** Names of those that may live, this one included, as last known; none until this gateway serves, or when it leaves. */
  gateways(): readonly string[]
  /**
   * Removes this gateway from the list of live gateways and continues to follow the catalog. It accepts no
   * new requests. The others need not reserve a share of provider limits for it while its last response runs.
   */
  leave(): void
  /** Ends the watch, and leaves. */
  stop(): Promise<void>
}

export type RouteWatchOptions = {
  /** Not the connections of requests: reading 10,000 routes takes longer than a request may wait. */
  readonly redis: RedisServers
  /** `undefined`: nothing of it can be used; what was served is served on. */
  readonly read: (revision: string, documents: SignedDocuments) => RouteTable | undefined
  /** Names this replica among the gateways. */
  readonly instanceId: string
  /**
   * Targets that this gateway cannot use now, with the reasons, and providers that have answered: part of its
   * heartbeat.
   */
  readonly health: () => Omit<GatewayReport, 'revision'>
  /** Hears of each catalog that is served from now on. */
  readonly onTable: (table: RouteTable) => void
  /** Hears of whatever kept a look from succeeding; the last catalog is served on. */
  readonly onError: (error: unknown) => void
  readonly nowMs: () => number
}

/**
 * Follows the catalog in Redis, and reports to Redis which revision this gateway serves and what it cannot
 * use.
 *
 * A revision that is absent or older than the one served changes nothing: Redis has lost it, and the
 * projection will write it again. An unavailable Redis changes nothing either.
 */
export function watchRoutes(options: RouteWatchOptions): RouteWatch {
  const { redis } = options
  let table: RouteTable | undefined
  let readRevision: string | undefined // also of a catalog that could not be used: it is not read again
  const heartbeat = createHeartbeat(options)
  let alarm = new AbortController()
  let isLeaving = false
  let isStopped = false

  async function look(): Promise<void> {
    listener.follow()
    const revision = await redis.common().ask((commands) => commands.get(routesRevisionNameOn(redis)))
    if (isNewer(revision, readRevision)) {
      const catalog = await readCatalog(redis)
      const next = options.read(...catalog)
      readRevision = catalog[0]
      if (next !== undefined) options.onTable(next)
      table = next ?? table
    }
    if (isLeaving) await heartbeat.takeBack()
    else if (table !== undefined) await heartbeat.tell(table)
  }

  async function follow(): Promise<void> {
    while (!isStopped) {
      alarm = new AbortController() // what is announced during a look leads to another one
      await look().catch(options.onError)
      await pause(pollMs, undefined, { signal: alarm.signal }).catch(() => undefined)
    }
  }

  const listener = createListener(redis, () => alarm.abort())
  const ended = follow()
  return {
    current() {
      if (table !== undefined) table = pricedAt(table, options.nowMs())
      return table
    },
    liveGateways: heartbeat.liveCount,
    gateways: () => (isLeaving ? [] : heartbeat.gateways()),
    leave() {
      isLeaving = true
      alarm.abort()
    },
    async stop() {
      isStopped = true
      listener.stop()
      alarm.abort()
      await ended
      try {
        await heartbeat.takeBack()
      } catch (error) {
        // an old heartbeat already shows that this gateway has stopped
        if (!(error instanceof RedisUnavailable)) throw error
      }
    },
  }
}

/** The entry of this gateway in Redis, and those of the others. */
function createHeartbeat({ redis, instanceId, health, nowMs }: RouteWatchOptions) {
  let told = { atMs: Number.NEGATIVE_INFINITY, news: '' }
  let hasLeft = false
  const live = createLiveGateways()
  let liveCount = 1
  let gateways: readonly string[] = []

  async function takeBack(): Promise<void> {
    if (hasLeft) return
    await redis.common().ask((commands) => commands.hdel(gatewaysNameOn(redis), instanceId))
    hasLeft = true
  }

  /** Reports changes at once, and periodically that this gateway is live. Reads which other gateways are. */
  async function tell({ revision }: RouteTable): Promise<void> {
    const atMs = nowMs()
    const report = { revision: BigInt(revision), version, ...health() }
    const news = writeReport(report, 0)
    if (news === told.news && atMs - told.atMs < heartbeatMs) return
    const name = gatewaysNameOn(redis)
    await redis.common().ask((commands) => commands.hset(name, instanceId, writeReport(report, atMs)))
    told = { atMs, news }
    const gone = live.note(await redis.common().ask((commands) => commands.hgetall(name)), atMs)
    liveCount = live.count(atMs)
    gateways = [...live.lives(atMs)].flatMap(([instance, life]) => (life === 'silent' ? [] : [instance]))
    if (gone.length > 0) await redis.common().ask((commands) => commands.hdel(name, ...gone))
  }

  return { tell, takeBack, liveCount: () => liveCount, gateways: () => gateways }
}

/**
 * Receives announcements of revisions, on a dedicated connection to the server that has the catalog now. Messages missed
 * while that is down are found by polling.
 */
function createListener(redis: RedisServers, onMessage: () => void) {
  let followed: RedisConnection | undefined
  let listener: Redis | undefined
  return {
    follow(): void {
      const server = redis.common()
      if (server === followed) return
      followed = server
      listener?.disconnect()
      listener = listenFor(() => routesRevisionNameOn(redis), server, onMessage)
    },
    stop: () => listener?.disconnect(),
  }
}

function listenFor(channel: () => string, { redis }: RedisConnection, onMessage: () => void): Redis {
  const listener = redis.duplicate({
    connectionName: `${redis.options.connectionName}-hints`,
    autoResubscribe: false,
  })
  listener.on('error', () => undefined) // the other connection has reported it
  listener.on('message', onMessage)
  listener.on('ready', () => {
    listener.subscribe(channel()).then(onMessage, () => undefined)
  })
  return listener
}

function isNewer(revision: string | null, known: string | undefined): revision is string {
  if (revision === null || !/^\d+$/.test(revision)) return false
  return known === undefined || BigInt(revision) > BigInt(known)
}

/** Revision and documents of one moment: they are written together and read together. */
async function readCatalog(redis: RedisServers): Promise<[revision: string, documents: SignedDocuments]> {
  const replies = await redis
    .common()
    .ask((commands) => commands.multi().get(routesRevisionNameOn(redis)).hgetall(routesNameOn(redis)).exec())
  const [revision, documents] = (replies ?? []).map(([error, reply]) => {
    if (error !== null) throw error
    return reply
  })
  if (typeof revision !== 'string')
    throw new RedisUnavailable('the catalog disappeared from Redis while it was being read')
  return [revision, documents as SignedDocuments]
}
