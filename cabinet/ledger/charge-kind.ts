/** The numbers of the kinds in the stream of a shard and in Postgres. */
const ranks = { released: 0, settled: 1, corrected: 2 } as const

/**
 * How a request was ended by a charge: `released`, its hold was given back or swept; `settled`, as its gateway billed it;
 * `corrected`, the gateway took that back. Of a request's charges the first one of the highest rank counts.
 */
export type ChargeKind = keyof typeof ranks

/** The number that stands for a kind outside of this program: a higher one counts more. */
export function rankOf(kind: ChargeKind): number {
  return ranks[kind]
}

/** Whether a charge of this kind counts where one of `other` is known. */
export function outranks(kind: ChargeKind, other: ChargeKind): boolean {
  return ranks[kind] > ranks[other]
}

/** The kind that a rank stands for, as Redis has it; `undefined` for any other text. */
export function findChargeKind(rank: string): ChargeKind | undefined {
  if (rank === '0') return 'released'
  if (rank === '1') return 'settled'
  return rank === '2' ? 'corrected' : undefined
}
