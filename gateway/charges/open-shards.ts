import { acrossMoves } from '#core/admission/across-moves'
import { type Admission, createAdmission } from '#core/admission/admission'
import type { Log } from '#core/process/log'
import { createNoteOutage, type NoteOutage } from '#core/process/outage-note'
import { openRedis, type RedisUrls } from '#core/redis/open-redis'
import type { RedisServers } from '#core/redis/redis-connection'
import { type GatewayMetrics, watchKeeper, watchRedis, watchScripts } from '../metrics/metrics.ts'
import { type ChargeKeeper, createChargeKeeper } from './charge-keeper.ts'
import { admitUnless, watchMemory } from './internal/memory-watch.ts'

/** How long the last byte of an answer waits for Redis to acknowledge its charge. */
const settlePatienceMs = 5_000

/** The gateway's settings (`config.ts`) for holds and charges. */
type ShardsConfig = {
  readonly redisUrls: RedisUrls
  readonly redisTimeoutMs: number
  readonly leaseMs: number
  readonly renewEveryMs: number
  readonly bufferedChargesMax: number
}

/** All that reaches the shards in Redis. */
export type Shards = {
  /** Admits nothing while Redis has no room for more. */
  readonly admission: Admission
  readonly keeper: ChargeKeeper
  close(): void
}

/**
 * Connects to the shards and begins to keep this replica's holds and charges. Redis need not be there yet.
 *
 * @param deps.catalog other connections to the same Redis: its memory is asked for where no request waits.
 */
export function openShards(
  config: ShardsConfig,
  deps: {
    readonly catalog: RedisServers
    readonly now: () => number
    readonly metrics: GatewayMetrics
    readonly log: Log
    readonly onUnavailable: (error: unknown) => void
  },
): Shards {
  const { catalog, now, metrics, log, onUnavailable } = deps
  const noteOf = createNotes(log)
  const redis = openRedis(config.redisUrls, {
    name: 'model-gateway',
    timeoutMs: config.redisTimeoutMs,
    onError: (error, server) => noteOf(server)('is unavailable', { error: error.message }),
    onCircuit: (state, server) =>
      noteOf(server)(state === 'open' ? 'is unavailable' : 'answers', { circuit: state }),
    onReady: (server) => noteOf(server)('answers', {}),
    onScript: watchScripts(metrics),
  })
  const memory = watchMemory(catalog, log, onUnavailable)
  const circuitIsOpen = () => redis.servers().some((connection) => connection.circuitIsOpen())
  watchRedis(metrics, { ...memory, circuitIsOpen, isNearlyFull: () => memory.isNearlyFull() })
  const admission = admitUnless(
    memory.isNearlyFull,
    acrossMoves(redis, createAdmission(redis, { leaseMs: config.leaseMs, mayList: memory.mayList })),
  )
  const keeper = createChargeKeeper({
    admission,
    connectionNumber: (shard) => redis.connectionOf(shard).connectionNumber(),
    renewEveryMs: config.renewEveryMs,
    patienceMs: settlePatienceMs,
    bufferedChargesMax: config.bufferedChargesMax,
    now,
    onUnavailable,
    onNewGeneration(resentCount) {
      metrics.newGenerations.inc()
      metrics.chargesResent.inc(resentCount)
    },
  })
  watchKeeper(metrics, keeper.state, now)
  return {
    admission,
    keeper,
    close() {
      keeper.stop()
      memory.stop()
      redis.close()
    },
  }
}

/** Notes about each server of Redis. */
function createNotes(log: Log): (server: string) => NoteOutage {
  const notes = new Map<string, NoteOutage>()
  return (server) => {
    const known = notes.get(server)
    if (known !== undefined) return known
    const note = createNoteOutage(log, {
      away: 'Redis is unavailable: requests get a 503 until it answers',
      back: 'Redis is available again',
    })
    const noteOfServer: NoteOutage = (state, facts) => note(state, { server, ...facts })
    notes.set(server, noteOfServer)
    return noteOfServer
  }
}
