import { formatRub, nanoRub } from '../ledger/money.ts'
import { quoted } from './quoted.ts'
import { type Refusal, refusal, retryAfterSecondsMax, retrySecondsOf } from './refusal.ts'

/** Nothing is left, whatever is running. */
export const insufficientBalance = refusal(
  'insufficient_balance',
  "The organization's balance is used up. Top it up in the cabinet; its API keys will work again immediately.",
)

/** Running requests hold all that is left. */
export const balanceReserved = refusal(
  'balance_reserved',
  "The organization's entire balance is reserved for requests in progress. Retry in a second, or top up the balance in the cabinet.",
  { retryAfterMs: 1000 },
)

/** A daily budget that is spent, or that running requests have reserved. */
export function budgetRefusal(refused: {
  readonly reason: 'daily_budget_exceeded' | 'budget_reserved'
  readonly limitNano: bigint
  readonly usedNano: bigint
  readonly heldNano: bigint
  /** The least that the request may cost; absent where no request was made. */
  readonly neededNano?: bigint
  /** When the Moscow day ends, Unix milliseconds. */
  readonly resetsAtMs: number
}): Refusal {
  const limit = formatRub(nanoRub(refused.limitNano))
  const used = formatRub(nanoRub(refused.usedNano))
  const held = formatRub(nanoRub(refused.heldNano))
  const needed = refused.neededNano === undefined ? {} : { needed: formatRub(nanoRub(refused.neededNano)) }
  const resetsAt = new Date(refused.resetsAtMs).toISOString()
  if (refused.reason === 'budget_reserved')
    return refusal(
      'budget_reserved',
      `This API key has spent ${used} ₽ of its daily budget of ${limit} ₽, and the rest is reserved for requests in progress. Retry in a second.`,
      { limit, used, held, ...needed, resetsAt, retryAfterMs: 1000 },
    )
  return refusal(
    'daily_budget_exceeded',
    `This API key has used up its daily budget of ${limit} ₽ (${used} ₽ spent). The budget resets at ${resetsAt} (midnight in Moscow); the key's owner can raise it in the cabinet.`,
    { limit, used, held, ...needed, resetsAt },
  )
}

const countedBy = { rpm: 'requests', tpm: 'tokens', token_counts: 'counts of tokens' } as const

/**
 * More requests, tokens or counts of tokens than fit into a minute.
 *
 * The window counts whole seconds, one more than a minute of them; SDKs would not wait for that one (`retryHeaders`).
 */
export function rateRefusal({
  reason,
  limit,
  used,
  retryAfterMs: freeAfterMs,
}: {
  readonly reason: keyof typeof countedBy
  readonly limit: number
  readonly used: number
  readonly retryAfterMs: number
}): Refusal {
  const counted = countedBy[reason]
  const retryAfterMs = Math.min(freeAfterMs, retryAfterSecondsMax * 1000)
  const seconds = retrySecondsOf(retryAfterMs)
  return refusal(
    'rate_limit_exceeded',
    `This API key is limited to ${limit} ${counted} per minute and has used ${used} in the last minute${reason === 'tpm' ? ', which leaves too few for this request' : ''}. Retry in ${seconds} s.`,
    { limit, used, retryAfterMs },
  )
}

/** The key's list of models has neither this model nor its provider. */
export function modelNotAllowed(model: string): Refusal {
  return refusal('model_not_allowed', `This API key is not allowed to use the model ${quoted(model)}.`, {
    param: 'model',
  })
}
