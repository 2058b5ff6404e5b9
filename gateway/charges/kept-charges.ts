import type { Charge, ShardMark } from '#cabinet/admission'
import type { Shard } from '#cabinet/shard'

/** A charge that Postgres is not known to have yet. */
type Kept = {
  readonly charge: Charge
  /** Its entry in the shard's stream, and the epoch that id belongs to; `null` until a settle was acknowledged. */
  readonly entry: { readonly chargeId: string; readonly nonce: string } | null
  readonly keptAtMs: number
}

/**
 * The charges of this replica that Redis could still lose: kept until their stream id is known to be posted.
 *
 * Pure bookkeeping, no I/O. Bounded by its user (`size`): when it is full, nothing new is admitted.
 */
export type KeptCharges = {
  readonly size: number
  /** Keeps a charge, or replaces what is kept of its request by one of higher or equal rank; then it must be sent. */
  keep(charge: Charge, nowMs: number): void
  /** Redis acknowledged the charge of `requestId`, as entry `chargeId` of the epoch `nonce`. */
  acknowledge(charge: Charge, chargeId: string, nonce: string): void
  /** Nothing more is to come of this charge: Redis answered that it needs no entry. */
  drop(charge: Charge): void
  /** Frees what `mark` says is in Postgres. Ids of another epoch say nothing and stay. */
  freePosted(shard: Shard, mark: ShardMark): void
  /** Every charge of the shard whose entry is not known in the epoch `nonce`: to be sent (again). */
  unacknowledged(shard: Shard, nonce: string | undefined): readonly Charge[]
  /** Shards with a kept charge. */
  shards(): readonly Shard[]
  /** When the longest kept one came, or `undefined` when there is none. */
  oldestAtMs(): number | undefined
}

/** `a` ≤ `b` for Redis stream ids (`<ms>-<n>`). */
export function isAtOrBefore(a: string, b: string): boolean {
  const [aMs = 0, aSequence = 0] = a.split('-').map(Number)
  const [bMs = 0, bSequence = 0] = b.split('-').map(Number)
  return aMs === bMs ? aSequence <= bSequence : aMs < bMs
}

/** An empty store. */
export function createKeptCharges(): KeptCharges {
  const shards = new Map<Shard, Map<string, Kept>>()
  let size = 0

  function remove(shard: Shard, requestId: string): void {
    const kept = shards.get(shard)
    if (kept?.delete(requestId)) size -= 1
    if (kept?.size === 0) shards.delete(shard)
  }

  return {
    get size() {
      return size
    },
    keep(charge, nowMs) {
      const { shard, requestId } = charge.hold
      const kept = shards.get(shard) ?? new Map<string, Kept>()
      const known = kept.get(requestId)
      if (known !== undefined && known.charge.rank > charge.rank) return
      if (known === undefined) size += 1
      kept.set(requestId, { charge, entry: null, keptAtMs: known?.keptAtMs ?? nowMs })
      shards.set(shard, kept)
    },
    acknowledge(charge, chargeId, nonce) {
      const { shard, requestId } = charge.hold
      const known = shards.get(shard)?.get(requestId)
      // A correction may have replaced this charge meanwhile: that one is still to be sent.
      if (known?.charge !== charge) return
      shards.get(shard)?.set(requestId, { ...known, entry: { chargeId, nonce } })
    },
    drop(charge) {
      const { shard, requestId } = charge.hold
      if (shards.get(shard)?.get(requestId)?.charge === charge) remove(shard, requestId)
    },
    freePosted(shard, mark) {
      for (const [requestId, { entry }] of shards.get(shard) ?? []) {
        const posted = entry?.nonce === mark.nonce && isAtOrBefore(entry.chargeId, mark.postedThrough)
        if (posted) remove(shard, requestId)
      }
    },
    unacknowledged(shard, nonce) {
      const kept = [...(shards.get(shard)?.values() ?? [])]
      return kept.filter(({ entry }) => entry === null || entry.nonce !== nonce).map(({ charge }) => charge)
    },
    shards: () => [...shards.keys()],
    oldestAtMs() {
      let oldest: number | undefined
      for (const kept of shards.values()) {
        const first = kept.values().next().value // a Map keeps the order of coming
        if (first !== undefined && (oldest === undefined || first.keptAtMs < oldest)) oldest = first.keptAtMs
      }
      return oldest
    },
  }
}
