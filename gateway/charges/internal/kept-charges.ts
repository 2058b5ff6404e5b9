import type { Charge } from '#core/admission/admission'
import { outranks } from '#core/ledger/charge-kind'
import type { Shard } from '#core/redis/shard'

/** A charge that Postgres is not known to have yet. */
type Kept = {
  readonly charge: Charge
  /** Its entry in the shard's stream, and the generation that id belongs to; `null` until Redis acknowledged it. */
  entry: { readonly chargeId: string; readonly generation: string } | null
  readonly keptAtMs: number
  /** Redis's clock: later than that it may not be posted for the first time. Gone once it was. */
  untilMs: number | undefined
}

/**
 * The charges of this replica that Redis could still lose. They are buffered until their stream id is known
 * to be posted.
 *
 * A `generation` identifies the data that Redis is known to have: an epoch as seen through one connection.
 * Ids of one generation are meaningless in another: Redis may have lost the stream entry and reused the id
 * for another charge.
 *
 * Pure bookkeeping, no I/O. Bounded by its user (`size`): when it is full, nothing new is admitted.
 */
export type KeptCharges = {
  readonly size: number
  /** Keeps a charge, or replaces what is kept of its request by one of the same or a higher rank; then it must be sent. */
  keep(charge: Charge, nowMs: number, untilMs?: number): void
  /**
   * Until when Redis may post this charge, by its clock; `undefined`: it has done so before, or may forever.
   */
  bookableUntilMs(charge: Charge): number | undefined
  /**
   * Redis has acknowledged this very charge, and its client got the response, even if Redis later loses the
   * charge. From now on it may be posted at any time.
   */
  noteBooked(charge: Charge): void
  /** Redis acknowledged this very charge, as entry `chargeId` of `generation`. */
  acknowledge(charge: Charge, chargeId: string, generation: string): void
  /** Nothing more is to come of this charge: Redis answered that it needs no entry. */
  drop(charge: Charge): void
  /**
   * Frees the charges of `generation` up to the stream id `postedThrough`: Postgres has them. One that was acknowledged
   * long after it came may stay until a later update.
   */
  freePosted(shard: Shard, generation: string, postedThrough: string): void
  /** Every charge of the shard that was not acknowledged in `generation` (undefined: none was): to be sent (again). */
  unacknowledged(shard: Shard, generation: string | undefined): readonly Charge[]
  /** Shards with a buffered charge. */
  shards(): readonly Shard[]
  /** When the longest kept one came, or `undefined` when there is none. */
  oldestAtMs(): number | undefined
}

/**
 * Unposted charges after which a walk over what is posted ends. They are posted about as they came; after an outage of
 * Postgres there are 100,000s of them, and updates for the first ones come 100 times a second.
 */
const unpostedSeenMax = 1_000

/** `a` ≤ `b` for Redis stream ids (`<ms>-<n>`): numbers without leading zeros, so the longer one is the larger. */
export function isAtOrBefore(a: string, b: string): boolean {
  const aDash = a.indexOf('-')
  const bDash = b.indexOf('-')
  if (aDash !== bDash) return aDash < bDash
  if (a.length === b.length) return a <= b
  const aMs = a.slice(0, aDash)
  const bMs = b.slice(0, bDash)
  return aMs === bMs ? a.length < b.length : aMs < bMs
}

/** An empty store. */
export function createKeptCharges(): KeptCharges {
  const shards = new Map<Shard, Map<string, Kept>>()
  /** The ids that each shard is known to have posted: only a change is worth a walk over the whole buffer. */
  const posted = new Map<Shard, { readonly generation: string; readonly through: string }>()
  let size = 0

  function isPosted(shard: Shard, { chargeId, generation }: NonNullable<Kept['entry']>): boolean {
    const known = posted.get(shard)
    return known?.generation === generation && isAtOrBefore(chargeId, known.through)
  }

  function remove(shard: Shard, requestId: string): void {
    const kept = shards.get(shard)
    if (kept?.delete(requestId)) size -= 1
    if (kept?.size === 0) shards.delete(shard)
  }

  return {
    get size() {
      return size
    },
    keep(charge, nowMs, untilMs) {
      const { shard, requestId } = charge.hold
      const kept = shards.get(shard) ?? new Map<string, Kept>()
      const known = kept.get(requestId)
      if (known !== undefined && outranks(known.charge.chargeKind, charge.chargeKind)) return
      if (known === undefined) size += 1
      kept.set(requestId, { charge, entry: null, keptAtMs: known?.keptAtMs ?? nowMs, untilMs })
      shards.set(shard, kept)
    },
    bookableUntilMs({ hold: { shard, requestId } }) {
      return shards.get(shard)?.get(requestId)?.untilMs
    },
    noteBooked(charge) {
      const { shard, requestId } = charge.hold
      const known = shards.get(shard)?.get(requestId)
      if (known?.charge === charge) known.untilMs = undefined
    },
    acknowledge(charge, chargeId, generation) {
      const { shard, requestId } = charge.hold
      const known = shards.get(shard)?.get(requestId)
      // A correction may have replaced this charge since: the correction must still be sent.
      if (known?.charge !== charge) return
      if (isPosted(shard, { chargeId, generation })) remove(shard, requestId)
      else known.entry = { chargeId, generation }
    },
    drop(charge) {
      const { shard, requestId } = charge.hold
      if (shards.get(shard)?.get(requestId)?.charge === charge) remove(shard, requestId)
    },
    freePosted(shard, generation, postedThrough) {
      const known = posted.get(shard)
      if (known?.generation === generation && known.through === postedThrough) return
      posted.set(shard, { generation, through: postedThrough })
      let unpostedSeen = 0
      for (const [requestId, { entry }] of shards.get(shard) ?? []) {
        if (entry !== null && isPosted(shard, entry)) remove(shard, requestId)
        else if (++unpostedSeen >= unpostedSeenMax) return
      }
    },
    unacknowledged(shard, generation) {
      const kept = [...(shards.get(shard)?.values() ?? [])]
      return kept
        .filter(({ entry }) => entry === null || entry.generation !== generation)
        .map(({ charge }) => charge)
    },
    shards: () => [...shards.keys()],
    oldestAtMs: () => oldestAtMs(shards),
  }
}

function oldestAtMs(shards: ReadonlyMap<Shard, ReadonlyMap<string, Kept>>): number | undefined {
  let oldest: number | undefined
  for (const kept of shards.values()) {
    const first = kept.values().next().value // a Map keeps the order of coming
    if (first !== undefined && (oldest === undefined || first.keptAtMs < oldest)) oldest = first.keptAtMs
  }
  return oldest
}
