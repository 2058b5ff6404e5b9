import type { InspectedKey, LimitState } from '#core/admission/admission-reply'
import { formatRub, nanoRub } from '#core/ledger/money'

/**
 * What a key may do and has used, as `GET /v1/key` shows it: rubles as decimal strings, times in ISO 8601,
 * UTC.
 *
 * `remaining` is never below zero. Tokens of running requests count as used; rubles of running requests as
 * held. The organization's balance is included only if the key may read it.
 *
 * @param nowMs Unix time: the windows of RPM and TPM are relative to it.
 */
export function keyReport(key: InspectedKey, nowMs: number): object {
  return {
    object: 'key',
    id: key.keyId,
    organization_id: key.organizationId,
    expires_at: key.expiresAtMs === null ? null : timeOf(key.expiresAtMs),
    allowed_models: key.allowedModels,
    rpm: rateOf(key.limits.rpm, nowMs),
    tpm: rateOf(key.limits.tpm, nowMs),
    daily_budget: budgetOf(key.day),
    ...(key.budgets.length === 0 ? {} : { budgets: key.budgets.map(longerBudget) }),
    keeps_responses_hours: key.keepsResponsesHours,
    ...(key.readBalance ? { balance: balanceOf(key.balance) } : {}),
  }
}

function rateOf({ limit, used, remaining, resetMs }: LimitState, nowMs: number): object {
  return {
    limit,
    used,
    remaining,
    resets_at: resetMs === 0 ? null : timeOf(nowMs + resetMs),
  }
}

function longerBudget({ scope, period, resetsAtMs, ...amounts }: InspectedKey['budgets'][number]): object {
  return { budget: scope, period, ...budgetOf({ ...amounts, resetsAtMs }) }
}

function budgetOf({
  limitNano,
  usedNano,
  heldNano,
  resetsAtMs,
}: Omit<InspectedKey['day'], 'resetsAtMs'> & { readonly resetsAtMs: number | null }): object {
  return {
    limit_rub: limitNano === null ? null : rub(limitNano),
    used_rub: rub(usedNano),
    held_rub: rub(heldNano),
    remaining_rub: limitNano === null ? null : rub(atLeastZero(limitNano - usedNano - heldNano)),
    resets_at: resetsAtMs === null ? null : timeOf(resetsAtMs),
  }
}

function balanceOf({ postedNano, pendingNano, heldNano }: InspectedKey['balance']): object {
  const balanceNano = postedNano - pendingNano
  return {
    balance_rub: rub(balanceNano),
    held_rub: rub(heldNano),
    available_rub: rub(atLeastZero(balanceNano - heldNano)),
  }
}

function atLeastZero(amount: bigint): bigint {
  return amount > 0n ? amount : 0n
}

function rub(amount: bigint): string {
  return formatRub(nanoRub(amount))
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString()
}
