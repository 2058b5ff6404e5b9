import type { Blocker } from '../keys/key.ts'
import { type BudgetPeriod, type BudgetScope, periodOf, scopeOf } from '../ledger/spend-window.ts'
import type { ScriptReply } from '../redis/script-reply.ts'
import type { Shard } from '../redis/shard.ts'

/** Which generation a shard is of. Another `nonce` than before means that Redis may have lost what it acknowledged. */
export type ShardMark = {
  readonly nonce: string
  /** Stream id: every charge up to it is in Postgres. */
  readonly postedThrough: string
}

/** One limit of a key, as the `x-ratelimit-*` headers say it. */
export type LimitState = {
  readonly limit: number
  /** Above the limit after that was lowered, or once a request took more tokens than were expected. */
  readonly used: number
  readonly remaining: number
  readonly resetMs: number
}

export type RateLimits = { readonly rpm: LimitState; readonly tpm: LimitState }

/** Why a key, whatever it asks for, gets nothing. */
type KeyRefusal =
  | { readonly reason: 'unknown_key' | 'revoked_key' | 'expired_key' | 'insufficient_balance' }
  | { readonly reason: 'blocked_key'; readonly blockedBy: Blocker }
  /** The client's address is in none of the networks that the key may be used from. */
  | { readonly reason: 'ip_not_allowed'; readonly ip: string }

type RateUse = {
  readonly limit: number
  /** In the last minute; after a limit was lowered, or a request used more than it held, above the limit. */
  readonly used: number
  readonly retryAfterMs: number
}

type RpmRefusal = RateUse & { readonly reason: 'rpm' }

/** `daily_budget_exceeded` is of a key's day, `budget_exceeded` of any other budget. */
type BudgetRefusalReason = 'daily_budget_exceeded' | 'budget_exceeded' | 'budget_reserved'

type BudgetUse = {
  readonly scope: BudgetScope
  readonly period: BudgetPeriod
  readonly limitNano: bigint
  /** Posted and pending, without what is held. */
  readonly usedNano: bigint
  /** By requests in progress. */
  readonly heldNano: bigint
  /** The least that the request may cost. */
  readonly neededNano: bigint
  /** When its period ends in the organization's time zone, Unix milliseconds by Redis's clock; `null`: never. */
  readonly resetsAtMs: number | null
}

/** Why this request, now, gets nothing. Amounts are nano-rubles. */
export type AdmitRefusal =
  | KeyRefusal
  | { readonly reason: 'model_not_allowed' }
  | { readonly reason: 'request_too_large_for_tpm'; readonly limit: number; readonly tokens: number }
  | (BudgetUse & { readonly reason: BudgetRefusalReason })
  | (BudgetUse & {
      readonly reason: 'request_exceeds_budget'
      /** The largest limit of output tokens that would fit, with nothing running; 0: none. */
      readonly outputTokensMax: number
    })
  | RpmRefusal
  | (RateUse & { readonly reason: 'tpm' })
  | { readonly reason: 'balance_reserved' }
  | {
      readonly reason: 'request_exceeds_balance'
      /** The balance, with nothing running. */
      readonly availableNano: bigint
      readonly heldNano: bigint
      /** The least that the request may cost. */
      readonly neededNano: bigint
      /** The largest limit of output tokens that would fit, with nothing running; 0: none. */
      readonly outputTokensMax: number
    }
  /**
   * The shard's epoch is absent, of another Redis run, or not open yet; charges wait for Postgres too long; or Redis is
   * unavailable or full, and surely held nothing.
   */
  | { readonly reason: 'unavailable' }
  /** The request id has ended already (a late command). */
  | { readonly reason: 'already_ended' }

/** A hold as its gateway knows it; enough to settle even when Redis has lost it. */
export type Hold = {
  readonly requestId: string
  readonly shard: Shard
  readonly organizationId: string
  readonly keyId: string
  /** Day of admission in the organization's time zone, since 1970-01-01; hold and charge both count there. */
  readonly day: number
  /** Scopes of budgets other than its key's that hold and charge count in, as `shard.lua` names them; `-`: none. */
  readonly owners: string
  /** Second of admission by Redis's clock: the bucket of the minute that settle corrects. */
  readonly second: number
  readonly holdNano: bigint
  readonly tokens: number
  /** When it must have ended, Unix milliseconds by Redis's clock. */
  readonly deadlineMs: number
}

/** A candidate that may run. */
type AllowedCandidate = {
  /** Among those that were asked for. */
  readonly index: number
  /**
   * Output token limit to send to the provider, since no more is held. `null`: the request's own limit
   * applies.
   */
  readonly outputLimit: number | null
}

export type Admitted = {
  readonly hold: Hold
  /** For how long the key's Responses are stored; 0: they are not. */
  readonly keepsResponsesHours: number
  /** Those that this key may use and that fit. The first is always among them. */
  readonly allowed: readonly AllowedCandidate[]
  readonly limits: RateLimits
  readonly mark: ShardMark
}

/** A key that exists, and whose it is. */
export type KeyOwner = Pick<Hold, 'organizationId' | 'keyId'>

/** The key that was rejected, if Redis has it and was asked. */
export type RefusedKey = KeyOwner & { readonly limits: RateLimits }

type Refused<Key> = { readonly outcome: 'refused'; readonly key: Key | null }

export type AdmitAnswer =
  | ({ readonly outcome: 'admitted' } & Admitted)
  | (Refused<RefusedKey> & AdmitRefusal)
  | typeof withdrawn

/**
 * The key may be used from some networks only, and this client's address was not compared with them: Redis cannot. Nothing
 * was read of the request and nothing was counted.
 */
export type AddressUnchecked<Key> = {
  readonly outcome: 'unchecked'
  readonly key: Key
  readonly list: IpList
}

/** The networks of a key, and an id that only this list has. */
export type IpList = { readonly id: string; readonly networks: readonly string[] }

/** The address of a client, by which keys may be limited; asked only for such keys. */
export type ClientAddress = () => string

/** Instead of a list that the client's address is in: it is not asked for. */
export const fromAnywhere = '*'

/** Its client had left before it was sent: Redis has not heard of it. */
export const withdrawn = { outcome: 'refused', key: null, reason: 'withdrawn' } as const

/** Redis is unavailable or must not be called; no key was checked. */
export const refusedUnseen = { outcome: 'refused', key: null, reason: 'unavailable' } as const

/**
 * A key's spending of its day, and its organization's balance, whether it may spend more or not. Amounts are
 * nano-rubles.
 */
type KeyAmounts = {
  readonly day: {
    readonly limitNano: bigint | null
    readonly usedNano: bigint
    readonly heldNano: bigint
    readonly resetsAtMs: number
  }
  readonly balance: { readonly postedNano: bigint; readonly pendingNano: bigint; readonly heldNano: bigint }
  /** Budgets of longer periods than its day, and of its member and organization. */
  readonly budgets: readonly Omit<BudgetUse, 'neededNano'>[]
}

/** The limits and usage of a key. */
export type InspectedKey = KeyAmounts & {
  readonly organizationId: string
  readonly keyId: string
  readonly allowedModels: readonly string[] | null
  readonly expiresAtMs: number | null
  readonly readBalance: boolean
  /** For how long its Responses are stored; 0: they are not. */
  readonly keepsResponsesHours: number
  readonly limits: RateLimits
}

export type Inspection =
  | {
      readonly outcome: 'usable'
      readonly key: InspectedKey
      /** Until its requests per minute have room for one more; 0: they have. */
      readonly rpmWaitMs: number
    }
  | (Refused<RefusedKey & KeyAmounts> & InspectRefusal)

type RefusalOfAny = KeyRefusal | RpmRefusal | { readonly reason: 'unavailable' }

/** Why a key gets nothing, or no count: of a request that was rejected, in RPM, or of tokens. */
export type InspectRefusal = RefusalOfAny | (RateUse & { readonly reason: 'token_counts' })

export type Settled = {
  /**
   * Id of the entry in the `charges` stream; `null` if nothing was appended, `late` if it was too late for
   * that.
   */
  readonly chargeId: string | 'late' | null
  /** The cost that counts: that of the first settle, when this one came twice. */
  readonly costNano: bigint
  readonly mark: ShardMark
}

/** The reply of `inspect.lua`, `count.lua` or `token-count.lua`. */
export function parseInspection(reply: ScriptReply): Inspection | AddressUnchecked<RefusedKey & KeyAmounts> {
  if (reply.text() === 'refused') {
    const key = parseRefusedKey(reply)
    const reason = reply.text()
    const list = key === null ? undefined : findList(reason, reply)
    if (key !== null && list !== undefined)
      return { outcome: 'unchecked', key: { ...key, ...parseAmounts(reply) }, list }
    const refusal = parseInspectRefusal(reason, reply)
    return { outcome: 'refused', key: key === null ? null : { ...key, ...parseAmounts(reply) }, ...refusal }
  }
  return {
    outcome: 'usable',
    key: {
      organizationId: reply.text(),
      keyId: reply.text(),
      allowedModels: parseModels(reply.text()),
      expiresAtMs: numberOrNull(reply.optional()),
      readBalance: reply.text() === '1',
      keepsResponsesHours: reply.whole(),
      limits: parseLimits(reply),
      ...parseAmounts(reply),
    },
    rpmWaitMs: reply.whole(),
  }
}

/** The reply of `admit.lua` for this request. */
export function parseAdmitAnswer(
  reply: ScriptReply,
  requestId: string,
  shard: Shard,
): AdmitAnswer | AddressUnchecked<RefusedKey> {
  if (reply.text() === 'refused') {
    const key = parseRefusedKey(reply)
    const reason = reply.text()
    const list = key === null ? undefined : findList(reason, reply)
    if (key !== null && list !== undefined) return { outcome: 'unchecked', key, list }
    return { outcome: 'refused', key, ...parseAdmitRefusal(reason, reply) }
  }
  return {
    outcome: 'admitted',
    hold: {
      requestId,
      shard,
      organizationId: reply.text(),
      keyId: reply.text(),
      day: reply.whole(),
      owners: reply.text(),
      second: reply.whole(),
      holdNano: reply.amount(),
      tokens: reply.whole(),
      deadlineMs: reply.whole(),
    },
    allowed: reply.text().split(',').map(parseAllowed),
    keepsResponsesHours: reply.whole(),
    limits: parseLimits(reply),
    mark: parseMark(reply),
  }
}

function findList(reason: string, reply: ScriptReply): IpList | undefined {
  if (reason !== 'address_unchecked') return undefined
  return { id: reply.text(), networks: reply.text().split(' ') }
}

function parseAllowed(text: string): AllowedCandidate {
  const [index, limit] = text.split(':').map(Number)
  return { index: index ?? 0, outputLimit: limit || null }
}

/** The reply of `settle.lua` and `void.lua`. */
export function parseSettled(reply: ScriptReply): Settled {
  const chargeId = reply.text()
  return { chargeId: chargeId === '-' ? null : chargeId, costNano: reply.amount(), mark: parseMark(reply) }
}

/** Nonce and `posted_through`, as every script that writes answers them. */
export function parseMark(reply: ScriptReply): ShardMark {
  return { nonce: reply.text(), postedThrough: reply.text() }
}

/** Models of a key as Redis has them: one a line, an empty text for all of them. */
export function modelsText(models: readonly string[] | null): string {
  return models === null ? '' : `\n${models.join('\n')}\n`
}

function parseModels(text: string): readonly string[] | null {
  return text === '' ? null : text.split('\n').filter((model) => model !== '')
}

function parseRefusedKey(reply: ScriptReply): RefusedKey | null {
  const organizationId = reply.optional()
  return organizationId === null ? null : { organizationId, keyId: reply.text(), limits: parseLimits(reply) }
}

function parseAdmitRefusal(reason: string, reply: ScriptReply): AdmitRefusal {
  switch (reason) {
    case 'model_not_allowed':
    case 'balance_reserved':
    case 'already_ended':
      return { reason }
    case 'request_too_large_for_tpm':
      return { reason, limit: reply.whole(), tokens: reply.whole() }
    case 'daily_budget_exceeded':
    case 'budget_exceeded':
    case 'budget_reserved':
      return { reason, ...parseBudgetUse(reply) }
    case 'request_exceeds_budget':
      return { reason, ...parseBudgetUse(reply), outputTokensMax: reply.whole() }
    case 'request_exceeds_balance':
      return {
        reason,
        availableNano: reply.amount(),
        heldNano: reply.amount(),
        neededNano: reply.amount(),
        outputTokensMax: reply.whole(),
      }
    case 'tpm':
      return { reason, ...parseRateUse(reply) }
    default:
      return parseKeyRefusal(reason, reply)
  }
}

function parseInspectRefusal(reason: string, reply: ScriptReply): InspectRefusal {
  return reason === 'token_counts' ? { reason, ...parseRateUse(reply) } : parseKeyRefusal(reason, reply)
}

function parseBudgetUse(reply: ScriptReply): BudgetUse {
  return {
    ...parseSpent(reply),
    neededNano: reply.amount(),
    resetsAtMs: numberOrNull(reply.optional()),
  }
}

function parseSpent(reply: ScriptReply) {
  return {
    scope: scopeOf(reply.text()),
    period: periodOf(reply.text()),
    limitNano: reply.amount(),
    usedNano: reply.amount() + reply.amount(),
    heldNano: reply.amount(),
  }
}

function parseRateUse(reply: ScriptReply): RateUse {
  return { limit: reply.whole(), used: reply.whole(), retryAfterMs: reply.whole() }
}

function parseKeyRefusal(reason: string, reply: ScriptReply): RefusalOfAny {
  switch (reason) {
    case 'rpm':
      return { reason, ...parseRateUse(reply) }
    case 'unavailable':
    case 'unknown_key':
    case 'revoked_key':
    case 'expired_key':
    case 'insufficient_balance':
      return { reason }
    case 'blocked_key':
      return { reason, blockedBy: parseBlockedBy(reply.text()) }
    default:
      throw new TypeError(`a script rejected a request with an unknown reason: ${reason}`)
  }
}

function parseBlockedBy(text: string): Blocker {
  return text === 'admin' || text === 'kubernetes' ? text : 'owner'
}

function parseLimits(reply: ScriptReply): RateLimits {
  return { rpm: parseLimit(reply), tpm: parseLimit(reply) }
}

function parseLimit(reply: ScriptReply): LimitState {
  const limit = reply.whole()
  const used = reply.whole()
  return { limit, used, remaining: Math.max(0, limit - used), resetMs: reply.whole() }
}

function parseAmounts(reply: ScriptReply): KeyAmounts {
  const limit = reply.optional()
  return {
    day: {
      limitNano: limit === null ? null : BigInt(limit),
      usedNano: reply.amount() + reply.amount(),
      heldNano: reply.amount(),
      resetsAtMs: reply.whole(),
    },
    balance: { postedNano: reply.amount(), pendingNano: reply.amount(), heldNano: reply.amount() },
    budgets: Array.from({ length: reply.whole() }, () => ({
      ...parseSpent(reply),
      resetsAtMs: numberOrNull(reply.optional()),
    })),
  }
}

function numberOrNull(text: string | null): number | null {
  return text === null ? null : Number(text)
}
