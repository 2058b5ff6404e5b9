/** In order of rank. The stream of a shard and Postgres have the rank, counted from 0. */
const chargeKinds = ['released', 'settled', 'corrected'] as const

/**
 * How a charge ends a request: `released`, its hold was given back or swept; `settled`, as its gateway billed it;
 * `corrected`, the gateway took that back. Of a request's charges the first one of the highest rank counts.
 */
export type ChargeKind = (typeof chargeKinds)[number]

/** 0 for the kind that any other outranks. */
export function rankOf(kind: ChargeKind): number {
  return chargeKinds.indexOf(kind)
}

/** Whether a charge of this kind counts where one of `other` is known. */
export function outranks(kind: ChargeKind, other: ChargeKind): boolean {
  return rankOf(kind) > rankOf(other)
}

/** The kind of this rank, as the stream has it; `undefined`: there is none. */
export function findChargeKind(rank: string): ChargeKind | undefined {
  return chargeKinds.find((kind) => String(rankOf(kind)) === rank)
}
