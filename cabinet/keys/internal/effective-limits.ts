import type { Inspection } from '#core/admission/admission-reply'
import { blockedApiKey, expiredApiKey } from '#core/errors/key-refusals'
import {
  balanceReserved,
  budgetRefusal,
  insufficientBalance,
  ipNotAllowed,
  modelNotAllowed,
  rateRefusal,
} from '#core/errors/limit-refusals'
import type { Refusal } from '#core/errors/refusal'
import { mayUse } from '#core/keys/allowed-models'
import { createAllowedNetworks } from '#core/keys/allowed-networks'
import type { Blocker } from '#core/keys/key'
import type { KeyState } from '#core/keys/key-state'
import { formatRub, type NanoRub, nanoRub } from '#core/ledger/money'
import type { OrganizationBudget } from '#core/ledger/organization-budgets'
import type { BudgetPeriod } from '#core/ledger/spend-window'
import { plainAddress } from '#core/process/plain-address'
import { scopeOfBudget } from '../../billing/budget-scope.ts'
import type { EffectiveLimit } from '../key-contracts.ts'
import { expiryText } from './shown-key.ts'

/** The state of a key in Redis: its minute, its day and its organization's balance. */
export type LiveUse = Pick<NonNullable<Inspection['key']>, 'limits' | 'day' | 'balance' | 'budgets'>

export type LimitFacts = {
  readonly key: Pick<KeyState, 'limits' | 'blockedBy'>
  /** `undefined`: Redis is unavailable or does not have the key yet. */
  readonly live: LiveUse | undefined
  /** The values in Postgres. */
  readonly booked: {
    readonly balance: NanoRub
    readonly spentToday: NanoRub
    readonly dayEndsAtMs: number
    readonly organizationBudgets: readonly Pick<OrganizationBudget, 'period' | 'limit'>[]
  }
  /** The requested model; `undefined`: any model that the key may use. */
  readonly model: string | undefined
  /** Where the request comes from; `undefined`: an address that the key may be used from. */
  readonly ip: string | undefined
  readonly nowMs: number
}

/** All limits of a key, in the order in which the gateway checks them, and the gateway's response now. Pure. */
export function effectiveLimits(facts: LimitFacts): EffectiveLimit[] {
  return [
    ipLimit(facts),
    expiryLimit(facts),
    blockLimit(facts),
    balanceLimit(facts),
    modelLimit(facts),
    budgetLimit(facts),
    ...longerBudgets(facts),
    rateLimit('rpm', facts),
    rateLimit('tpm', facts),
  ]
}

const unlimited = { limit: null, used: null, held: null, remaining: null, resets_at: null } as const

function told(refusal: Refusal | undefined): Pick<EffectiveLimit, 'would_refuse' | 'code' | 'message'> {
  return {
    would_refuse: refusal !== undefined,
    code: refusal?.code ?? null,
    message: refusal?.message ?? null,
  }
}

function ipLimit({ key: { limits }, ip }: LimitFacts): EffectiveLimit {
  const { allowedIps } = limits
  const plain = ip === undefined ? undefined : plainAddress(ip)
  const isRefused =
    allowedIps !== null && plain !== undefined && !createAllowedNetworks(allowedIps).has(plain)
  return {
    scope: 'ips',
    ...unlimited,
    limit: allowedIps === null ? null : [...allowedIps],
    ...told(isRefused ? ipNotAllowed(plain) : undefined),
  }
}

function expiryLimit({ key: { limits }, nowMs }: LimitFacts): EffectiveLimit {
  const { expiresAt } = limits
  const isOver = expiresAt !== null && expiresAt.getTime() <= nowMs
  const limit = expiresAt === null ? null : expiryText(expiresAt)
  return { scope: 'expiry', ...unlimited, limit, ...told(isOver ? expiredApiKey : undefined) }
}

/** With several blockers, the gateway reports the first in this order. */
const blockerOrder: readonly Blocker[] = ['admin', 'owner', 'kubernetes']

function blockLimit({ key: { blockedBy } }: LimitFacts): EffectiveLimit {
  const by = blockerOrder.find((blocker) => blockedBy.includes(blocker))
  return { scope: 'block', ...unlimited, ...told(by === undefined ? undefined : blockedApiKey(by)) }
}

function balanceLimit({ live, booked }: LimitFacts): EffectiveLimit {
  const balance = live === undefined ? booked.balance : live.balance.postedNano - live.balance.pendingNano
  const held = live?.balance.heldNano
  const free = balance - (held ?? 0n)
  const refusal = balance <= 0n ? insufficientBalance : free <= 0n ? balanceReserved : undefined
  return {
    scope: 'balance',
    ...unlimited,
    limit: rub(balance),
    held: held === undefined ? null : rub(held),
    remaining: rub(atLeastZero(free)),
    ...told(refusal),
  }
}

function modelLimit({ key: { limits }, model }: LimitFacts): EffectiveLimit {
  const { allowedModels } = limits
  const isRefused = model !== undefined && !mayUse(allowedModels, model)
  return {
    scope: 'models',
    ...unlimited,
    limit: allowedModels === null ? null : [...allowedModels],
    ...told(isRefused ? modelNotAllowed(model) : undefined),
  }
}

function budgetLimit({ key: { limits }, live, booked }: LimitFacts): EffectiveLimit {
  const limitNano = live === undefined ? limits.dailyBudgetNano : live.day.limitNano
  const usedNano = live?.day.usedNano ?? booked.spentToday
  const heldNano = live?.day.heldNano
  const resetsAtMs = live?.day.resetsAtMs ?? booked.dayEndsAtMs
  const free = limitNano === null ? null : limitNano - usedNano - (heldNano ?? 0n)
  return {
    scope: 'daily_budget',
    limit: limitNano === null ? null : rub(limitNano),
    used: rub(usedNano),
    held: heldNano === undefined ? null : rub(heldNano),
    remaining: free === null ? null : rub(atLeastZero(free)),
    resets_at: new Date(resetsAtMs).toISOString(),
    ...told(
      limitNano === null
        ? undefined
        : refusalOfBudget({ limitNano, usedNano, heldNano: heldNano ?? 0n, resetsAtMs }, free),
    ),
  }
}

/** Without Redis only the limits are known. */
function longerBudgets({ key: { limits }, live, booked }: LimitFacts): EffectiveLimit[] {
  if (live !== undefined) return live.budgets.map(liveBudget)
  const own: readonly (readonly [BudgetPeriod, NanoRub | null])[] = [
    ['week', limits.weeklyBudgetNano],
    ['month', limits.monthlyBudgetNano],
    ['total', limits.totalBudgetNano],
  ]
  const ofKey = own.flatMap(([period, limit]) =>
    limit === null ? [] : [{ scope: 'key' as const, period, limit }],
  )
  const ofOrganization = booked.organizationBudgets.map((budget) => ({
    ...budget,
    scope: 'organization' as const,
  }))
  return [...ofKey, ...ofOrganization].map(({ scope, period, limit }) => ({
    scope: scopeOfBudget({ scope, period }),
    ...unlimited,
    limit: rub(limit),
    ...told(undefined),
  }))
}

function liveBudget(budget: LiveUse['budgets'][number]): EffectiveLimit {
  const { limitNano, usedNano, heldNano, resetsAtMs } = budget
  const free = limitNano - usedNano - heldNano
  return {
    scope: scopeOfBudget(budget),
    limit: rub(limitNano),
    used: rub(usedNano),
    held: rub(heldNano),
    remaining: rub(atLeastZero(free)),
    resets_at: resetsAtMs === null ? null : new Date(resetsAtMs).toISOString(),
    ...told(refusalOfBudget(budget, free)),
  }
}

function refusalOfBudget(
  budget: Omit<LiveUse['budgets'][number], 'scope' | 'period'> &
    Partial<Pick<LiveUse['budgets'][number], 'scope' | 'period'>>,
  free: bigint | null,
): Refusal | undefined {
  const { scope = 'key', period = 'day' } = budget
  const told = { ...budget, scope, period }
  const isDay = scope === 'key' && period === 'day'
  if (budget.usedNano >= budget.limitNano)
    return budgetRefusal({ reason: isDay ? 'daily_budget_exceeded' : 'budget_exceeded', ...told })
  return free !== null && free <= 0n ? budgetRefusal({ reason: 'budget_reserved', ...told }) : undefined
}

function rateLimit(scope: 'rpm' | 'tpm', { key: { limits }, live, nowMs }: LimitFacts): EffectiveLimit {
  if (live === undefined) return { scope, ...unlimited, limit: limits[scope], ...told(undefined) }
  const { limit, used, remaining, resetMs } = live.limits[scope]
  const refusal =
    remaining > 0 ? undefined : rateRefusal({ reason: scope, limit, used, retryAfterMs: resetMs })
  return {
    scope,
    limit,
    used,
    held: null,
    remaining,
    resets_at: resetMs === 0 ? null : new Date(nowMs + resetMs).toISOString(),
    ...told(refusal),
  }
}

function atLeastZero(amount: bigint): bigint {
  return amount > 0n ? amount : 0n
}

function rub(amount: bigint): string {
  return formatRub(nanoRub(amount))
}
