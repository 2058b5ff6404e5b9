import { createRandom, drawWeighted, drawWhole } from './seeded-random.ts'

/** Every kind of fault and how often it is drawn, compared with the others. */
const weights = {
  kill_gateway: 4,
  kill_worker: 2,
  kill_redis: 2,
  /** Killed, its file cut at some byte, and killed again once it is back. */
  tear_redis: 1,
  kill_postgres: 2,
  flush_redis: 1,
  /** In the middle of a freeze of Postgres, when charges are nowhere but in Redis and in the memory of gateways. */
  flush_unposted: 2,
  /** Again 6 s later, when what was posted before the new epoch may not be posted for the first time any more. */
  flush_twice: 1,
  freeze_gateway: 3,
  freeze_worker: 1,
  freeze_redis: 2,
  freeze_postgres: 1,
  /** Stopped in order and away for a while: connections are rejected. */
  stop_redis: 1,
  stop_postgres: 1,
  /** Every connection is cut, with whatever is under way in it. */
  cut_redis: 1,
  cut_postgres: 1,
  /** SIGTERM, one after the other. */
  restart_gateways: 1,
  restart_workers: 1,
  kill_web: 2,
  kill_receiver: 2,
  freeze_receiver: 1,
  /** 500 with the work done or not, silence, 429, 202, or late. */
  trouble_till: 3,
} as const

export type FaultKind = keyof typeof weights

export const faultKinds = Object.keys(weights) as readonly FaultKind[]

export type Fault = {
  readonly kind: FaultKind
  /** Since the fault before. */
  readonly afterMs: number
  /** How long what is killed stays dead, what is frozen stays frozen, what is stopped stays unavailable. */
  readonly lastsMs: number
  /** In [0, 1): which of several; among those that have no other fault at that moment. */
  readonly place: number
}

const deadMs = [200, 3_000] as const
const frozenMsMin = 200

/**
 * The faults of a seed, without end: the same seed, spacing and longest freeze give the same faults.
 *
 * When one comes up while it would lose more than the system promises to survive, it waits (`loss-gates.ts`): the
 * order, the kinds, the spans and the places are replayed, the moments up to that wait.
 */
export function* scheduleFaults(options: {
  readonly seed: number
  readonly faultsEveryMs: readonly [least: number, most: number]
  readonly freezeMsMax: number
}): Generator<Fault, never> {
  const random = createRandom(options.seed)
  for (;;) {
    const kind = drawWeighted(random, weights)
    const afterMs = drawWhole(random, ...options.faultsEveryMs)
    // Squared: short spans, during which a time-out or a lease may or may not end, come more often than long ones.
    const spread = random() ** 2 * (options.freezeMsMax - frozenMsMin)
    const lastsMs = /^(kill|tear)_/.test(kind)
      ? drawWhole(random, ...deadMs)
      : Math.round(frozenMsMin + spread)
    yield { kind, afterMs, lastsMs, place: random() }
  }
}
