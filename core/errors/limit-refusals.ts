import { formatRub, nanoRub } from '../ledger/money.ts'
import type { BudgetPeriod, BudgetScope } from '../ledger/spend-window.ts'
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

/** A budget that is spent, or that running requests have reserved. */
export function budgetRefusal(refused: {
  readonly reason: 'daily_budget_exceeded' | 'budget_exceeded' | 'budget_reserved'
  readonly scope: BudgetScope
  readonly period: BudgetPeriod
  readonly limitNano: bigint
  readonly usedNano: bigint
  readonly heldNano: bigint
  /** The least that the request may cost; absent where no request was made. */
  readonly neededNano?: bigint
  readonly resetsAtMs: number | null
}): Refusal {
  const limit = formatRub(nanoRub(refused.limitNano))
  const used = formatRub(nanoRub(refused.usedNano))
  const numbers = { ...budgetDetails(refused), limit, used }
  const { whose, budget } = namesOfBudget(refused)
  if (refused.reason === 'budget_reserved')
    return refusal(
      'budget_reserved',
      `${whose} has spent ${used} ₽ of its ${budget} of ${limit} ₽, and the rest is reserved for requests in progress. Retry in a second.`,
      { ...numbers, retryAfterMs: 1000 },
    )
  const end =
    refused.resetsAtMs === null
      ? 'The budget does not reset'
      : `The budget resets at ${new Date(refused.resetsAtMs).toISOString()}`
  return refusal(
    refused.reason,
    `${whose} has used up its ${budget} of ${limit} ₽ (${used} ₽ spent). ${end}; ${remedies[refused.scope]}.`,
    numbers,
  )
}

/** What the body of an error about a budget has besides its limit and what is used. Pure. */
export function budgetDetails(refused: {
  readonly scope: BudgetScope
  readonly period: BudgetPeriod
  readonly heldNano: bigint
  readonly neededNano?: bigint
  readonly resetsAtMs: number | null
}) {
  const { scope, period, heldNano, neededNano, resetsAtMs } = refused
  return {
    budget: scope,
    period,
    held: formatRub(nanoRub(heldNano)),
    ...(neededNano === undefined ? {} : { needed: formatRub(nanoRub(neededNano)) }),
    ...(resetsAtMs === null ? {} : { resetsAt: new Date(resetsAtMs).toISOString() }),
  }
}

/** Whose budget it is, and which, for a sentence. Pure. */
export function namesOfBudget({
  scope,
  period,
}: {
  readonly scope: BudgetScope
  readonly period: BudgetPeriod
}): { readonly whose: string; readonly owner: string; readonly budget: string } {
  const budget = `${adjectives[period]} budget`
  switch (scope) {
    case 'key':
      return { whose: 'This API key', owner: "this key's", budget }
    case 'member':
      return { whose: 'The member who created this API key', owner: "this key's member's", budget }
    case 'organization':
      return { whose: 'The organization', owner: "the organization's", budget }
  }
}

const adjectives = { day: 'daily', week: 'weekly', month: 'monthly', total: 'total' } as const
const remedies = {
  key: "the key's owner can raise it in the cabinet",
  member: 'an owner of the organization can raise it in the cabinet',
  organization: 'an owner of the organization can raise it in the cabinet',
} as const

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

/** The key's list of networks has none with this address. @param ip '': unknown */
export function ipNotAllowed(ip: string): Refusal {
  if (ip === '')
    return refusal(
      'ip_not_allowed',
      'This API key may be used only from certain addresses, and your address is unknown: a proxy did not pass it on in X-Forwarded-For.',
    )
  return refusal(
    'ip_not_allowed',
    `This API key may not be used from the address ${ip}. Its owner can allow it in the cabinet.`,
    { ip },
  )
}

/** The key's list of models has neither this model nor its provider. */
export function modelNotAllowed(model: string): Refusal {
  return refusal('model_not_allowed', `This API key is not allowed to use the model ${quoted(model)}.`, {
    param: 'model',
  })
}
