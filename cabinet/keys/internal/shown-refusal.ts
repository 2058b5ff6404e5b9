import type { AdmitReason, ListedRefusal } from '#core/admission/listed-refusals'
import { errorRows } from '#core/errors/refusal'
import { writeCursor } from '../../api/page.ts'
import { scopeOfBudget } from '../../billing/budget-scope.ts'
import type { ShownRefusal } from '../key-contracts.ts'

/** The limit behind a rejection; of errors that the gateway returned without `admit`, if they have only one. */
const scopes: Partial<Record<ListedRefusal['reason'], ShownRefusal['scope']>> &
  Readonly<Record<AdmitReason, ShownRefusal['scope']>> = {
  revoked_key: null,
  expired_key: 'expiry',
  expired_api_key: 'expiry',
  blocked_key: 'block',
  api_key_blocked: 'block',
  insufficient_balance: 'balance',
  balance_reserved: 'balance',
  request_exceeds_balance: 'balance',
  model_not_allowed: 'models',
  ip_not_allowed: 'ips',
  daily_budget_exceeded: 'daily_budget',
  budget_exceeded: null,
  budget_reserved: 'daily_budget',
  request_exceeds_budget: 'daily_budget',
  rpm: 'rpm',
  tpm: 'tpm',
  request_too_large_for_tpm: 'tpm',
}

/** A rejected request as its owner sees it. Pure. */
export function showRefusal(refused: ListedRefusal): ShownRefusal {
  const { code } = refused
  return {
    at: new Date(refused.atMs).toISOString(),
    request_id: refused.requestId,
    model: refused.model,
    status: errorRows[code][0],
    code,
    param: refused.param,
    ip: refused.ip,
    scope: refused.budget === null ? (scopes[refused.reason] ?? null) : scopeOfBudget(refused.budget),
    limit: refused.limit,
    used: refused.used,
    held: refused.held,
    needed: refused.needed,
    resets_at: refused.resetsAtMs === null ? null : new Date(refused.resetsAtMs).toISOString(),
  }
}

type Place = { readonly cursor?: { readonly request_id: string } | undefined; readonly limit: number }

/**
 * A page of the list after the rejection in its cursor. If that has left the list the page is empty: those after it
 * left it before. Pure.
 */
export function pageOfRefusals(
  refusals: readonly ListedRefusal[] = [],
  { cursor, limit }: Place,
): { readonly rows: readonly ListedRefusal[]; readonly next_cursor: string | null } {
  const last = cursor && refusals.findIndex(({ requestId }) => requestId === cursor.request_id)
  if (last === -1) return { rows: [], next_cursor: null }
  const from = last === undefined ? 0 : last + 1
  const rows = refusals.slice(from, from + limit)
  const end = from + limit < refusals.length ? rows.at(-1) : undefined
  return { rows, next_cursor: end === undefined ? null : writeCursor({ request_id: end.requestId }) }
}
