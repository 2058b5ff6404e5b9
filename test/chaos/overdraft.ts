import type { Freeze } from './begun.ts'
import type { Asked } from './load.ts'
import { contextLength, outputTokensMax, price } from './request-plan.ts'

export type Overdraft = {
  readonly organizationId: string
  readonly overdraftNano: bigint
  readonly boundNano: bigint
}

/** Until a gateway that woke up has resent everything to Redis. */
const wakingMs = 10_000

/**
 * How far each organization was below zero at its lowest, and how far it may have been. A hold is never more than is
 * available, and no answer here costs more than its hold, so nothing: but for holds and unposted charges of a gateway
 * that slept while Redis lost them.
 */
export function overdraftsOf(evidence: {
  readonly lowestBalances: ReadonlyMap<string, bigint>
  readonly asked: readonly Asked[]
  readonly freezes: readonly Freeze[]
  /** When Redis lost data. */
  readonly lossesAtMs: readonly number[]
}): readonly Overdraft[] {
  const byOrganization = Map.groupBy(evidence.asked, ({ organizationId }) => organizationId)
  return [...evidence.lowestBalances].map(([organizationId, lowest]) => {
    const asked = byOrganization.get(organizationId) ?? []
    const uncounted = greatestUncounted(asked, evidence.freezes, evidence.lossesAtMs)
    return {
      organizationId,
      overdraftNano: lowest < 0n ? -lowest : 0n,
      boundNano: uncounted,
    }
  })
}

/** An upper bound of every request's hold: its prompt may fill the context. */
const mostHeld = BigInt(contextLength) * price.inputNano + BigInt(outputTokensMax) * price.outputNano

/** Freezes that overlap, or nearly, may add up; the sum of the worst such group counts. */
function greatestUncounted(
  asked: readonly Asked[],
  freezes: readonly Freeze[],
  lossesAtMs: readonly number[],
): bigint {
  let greatest = 0n
  let sum = 0n
  let groupEndsAtMs = Number.NEGATIVE_INFINITY
  for (const freeze of freezes.toSorted((a, b) => a.fromMs - b.fromMs)) {
    if (freeze.fromMs > groupEndsAtMs) sum = 0n
    groupEndsAtMs = Math.max(groupEndsAtMs, freeze.toMs + wakingMs)
    const isLoss = lossesAtMs.some((atMs) => atMs >= freeze.fromMs && atMs <= freeze.toMs + wakingMs)
    if (!isLoss) continue
    const sinceMs = freeze.fromMs - freeze.keptMs
    for (const one of asked)
      if (one.slot === freeze.slot && one.fromMs <= freeze.fromMs && one.toMs >= sinceMs) sum += mostHeld
    greatest = greater(greatest, sum)
  }
  return greatest
}

function greater(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
