import type { ListedRefusal } from '#core/admission/listed-refusals'
import type { RefusalCode } from '#core/errors/refusal'
import type { ShownRefusal } from '../key-contracts.ts'

type Meaning = readonly [code: RefusalCode, scope: ShownRefusal['scope']]

/** The error that the gateway returned, and the limit behind it. */
const meanings: Readonly<Record<ListedRefusal['reason'], Meaning>> = {
  revoked_key: ['invalid_api_key', null],
  expired_key: ['expired_api_key', 'expiry'],
  blocked_key: ['api_key_blocked', 'block'],
  insufficient_balance: ['insufficient_balance', 'balance'],
  balance_reserved: ['balance_reserved', 'balance'],
  request_exceeds_balance: ['request_exceeds_balance', 'balance'],
  model_not_allowed: ['model_not_allowed', 'models'],
  daily_budget_exceeded: ['daily_budget_exceeded', 'daily_budget'],
  budget_reserved: ['budget_reserved', 'daily_budget'],
  request_exceeds_budget: ['request_exceeds_budget', 'daily_budget'],
  rpm: ['rate_limit_exceeded', 'rpm'],
  tpm: ['rate_limit_exceeded', 'tpm'],
  request_too_large_for_tpm: ['request_too_large_for_tpm', 'tpm'],
}

/** A rejected request as its owner sees it. Pure. */
export function showRefusal(refused: ListedRefusal): ShownRefusal {
  const [code, scope] = meanings[refused.reason]
  return {
    at: new Date(refused.atMs).toISOString(),
    request_id: refused.requestId,
    model: refused.model,
    code,
    scope,
    limit: refused.limit,
    used: refused.used,
    held: refused.held,
    needed: refused.needed,
    resets_at: refused.resetsAtMs === null ? null : new Date(refused.resetsAtMs).toISOString(),
  }
}
