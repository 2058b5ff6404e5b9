import { type Admission, createAdmission } from '#core/admission/admission'
import type { Log } from '#core/process/log'
import { createNoteOutage } from '#core/process/outage-note'
import { connectRedis, type RedisConnection } from '#core/redis/redis-connection'
import { type GatewayMetrics, watchKeeper, watchRedis, watchScripts } from '../metrics/metrics.ts'
import { type ChargeKeeper, createChargeKeeper } from './charge-keeper.ts'
import { admitUnless, watchMemory } from './internal/memory-watch.ts'

/** How long the last byte of an answer waits for Redis to acknowledge its charge. */
const settlePatienceMs = 5_000

/** The gateway's settings (`config.ts`) for holds and charges. */
type ShardsConfig = {
  readonly redisUrl: string
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
 * @param deps.catalog another connection to the same Redis: its memory is asked for where no request waits.
 */
export function openShards(
  config: ShardsConfig,
  deps: {
    readonly catalog: RedisConnection
    readonly now: () => number
    readonly metrics: GatewayMetrics
    readonly log: Log
    readonly onUnavailable: (error: unknown) => void
  },
): Shards {
  const { catalog, now, metrics, log, onUnavailable } = deps
  const note = createNoteOutage(log, {
    away: 'Redis is unavailable: requests get a 503 until it answers',
    back: 'Redis is available again',
  })
  const redis = connectRedis(config.redisUrl, {
    name: 'model-gateway',
    timeoutMs: config.redisTimeoutMs,
    onError: (error) => note('is unavailable', { error: error.message }),
    onCircuit: (state) => note(state === 'open' ? 'is unavailable' : 'answers', { circuit: state }),
    onScript: watchScripts(metrics),
  })
  redis.redis.on('ready', () => note('answers', {}))
  const memory = watchMemory(catalog, log, onUnavailable)
  watchRedis(metrics, { circuitIsOpen: redis.circuitIsOpen, ...memory })
  const admission = admitUnless(memory.isNearlyFull, createAdmission(redis, { leaseMs: config.leaseMs }))
  const keeper = createChargeKeeper({
    admission,
    connectionNumber: redis.connectionNumber,
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
