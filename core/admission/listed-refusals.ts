import { z } from 'zod'
import { errorRows, type RefusalCode } from '../errors/refusal.ts'
import { formatRub, nanoRub } from '../ledger/money.ts'
import { clockDifferenceMs, timeOfRequest } from '../ledger/request-id.ts'
import { type BudgetPeriod, type BudgetScope, periodOf, scopeOf } from '../ledger/spend-window.ts'
import type { RedisServers } from '../redis/redis-connection.ts'
import { allShards, recentlyRefusedName, refusedName, shardOf } from '../redis/shard.ts'
import type { AdmitRefusal } from './admission-reply.ts'

/** A rejected request of a known key, with the numbers in its error. */
export type ListedRefusal = {
  readonly requestId: string
  readonly keyId: string
  /** The model asked for; `null`: the request named none, or was not read so far. */
  readonly model: string | null
  /** Why `admit` rejected it, or the code of its error if the gateway decided without. */
  readonly reason: AdmitReason | RefusalCode
  /** The code of the error that the client received. */
  readonly code: RefusalCode
  /** The field or header to change, if its error named one. */
  readonly param: string | null
  /** The address of the client, where its key may not be used from there; else `null`. */
  readonly ip: string | null
  /** The budget that it is about; `null`: about none. */
  readonly budget: { readonly scope: BudgetScope; readonly period: BudgetPeriod } | null
  /** When, Unix milliseconds by Redis's clock. */
  readonly atMs: number
  /** Requests, tokens, or rubles as a decimal string, as in the error; `null` where the error named none. */
  readonly limit: number | string | null
  readonly used: number | string | null
  readonly held: number | string | null
  readonly needed: number | string | null
  /** When the limit has room again, Unix milliseconds: of a daily budget and a rate; else `null`. */
  readonly resetsAtMs: number | null
}

/** How long an organization's rejections are listed, and how many of them (`refused-list.lua`). */
export const [listedMs, listedMax] = [7 * 86_400_000, 1_000] as const

export type AdmitReason = Exclude<
  AdmitRefusal['reason'],
  'unknown_key' | 'unavailable' | 'already_ended' | 'ip_not_allowed'
>

/** The unit of a rejection's numbers. */
const countedBy = {
  revoked_key: null,
  expired_key: null,
  blocked_key: null,
  insufficient_balance: null,
  model_not_allowed: null,
  balance_reserved: null,
  request_too_large_for_tpm: 'units',
  rpm: 'units',
  tpm: 'units',
  daily_budget_exceeded: 'nanoRub',
  budget_exceeded: 'nanoRub',
  budget_reserved: 'nanoRub',
  request_exceeds_balance: 'nanoRub',
  request_exceeds_budget: 'nanoRub',
} as const satisfies Record<AdmitReason, 'units' | 'nanoRub' | null>

/** The error that the gateway returns for a rejection by `admit`. */
const codes: Readonly<Record<AdmitReason, RefusalCode>> = {
  revoked_key: 'invalid_api_key',
  expired_key: 'expired_api_key',
  blocked_key: 'api_key_blocked',
  insufficient_balance: 'insufficient_balance',
  balance_reserved: 'balance_reserved',
  request_exceeds_balance: 'request_exceeds_balance',
  model_not_allowed: 'model_not_allowed',
  daily_budget_exceeded: 'daily_budget_exceeded',
  budget_exceeded: 'budget_exceeded',
  budget_reserved: 'budget_reserved',
  request_exceeds_budget: 'request_exceeds_budget',
  rpm: 'rate_limit_exceeded',
  tpm: 'rate_limit_exceeded',
  request_too_large_for_tpm: 'request_too_large_for_tpm',
}

const budgetReasons: ReadonlySet<AdmitReason> = new Set([
  'daily_budget_exceeded',
  'budget_exceeded',
  'budget_reserved',
  'request_exceeds_budget',
])

const number = z.string().regex(/^-?\d{1,18}$/)

/** As `refuse` in `admit.lua` writes it. Entries of older versions have no numbers. */
const admitEntry = z.object({
  at: z.number(),
  request: z.string(),
  key: z.string(),
  model: z.string(),
  reason: z.enum(Object.keys(countedBy) as AdmitReason[]),
  budget: z
    .string()
    .regex(/^[\w-]+:[dwmt]$/)
    .optional(),
  limit: number.optional(),
  used: number.optional(),
  held: number.optional(),
  needed: number.optional(),
  reset: number.optional(),
})

const told = z.union([z.number(), z.string()]).nullable().default(null)

/** As `refusalText` writes it, with the time from `list.lua`. */
const gatewayEntry = z.object({
  at: z.number(),
  request: z.string(),
  key: z.string(),
  model: z.string().nullable().default(null),
  code: z.enum(Object.keys(errorRows) as RefusalCode[]),
  param: z.string().nullable().default(null),
  ip: z.string().nullable().default(null),
  limit: told,
  used: told,
  held: told,
  needed: told,
})

/** A rejection that a gateway decided without `admit`, to be listed. */
export type GatewayRefusal = Pick<ListedRefusal, 'requestId' | 'keyId' | 'model' | 'param'> & {
  readonly code: RefusalCode
  readonly ip?: string | undefined
  /** How long ago. */
  readonly agoMs: number
} & Partial<Readonly<Record<'limit' | 'used' | 'held' | 'needed', number | string | undefined>>>

/** Entries that a search reads at once, the newest first. */
const readAtOnce = 100

/** Longest model name or field to list: both are the caller's text, and a thousand of them are kept. */
const listedLengthMax = 64

/** The entry of a rejection in the list, without its time. Pure. */
export function refusalText(refusal: GatewayRefusal): string {
  const { requestId, keyId, model, code, param, ip, limit, used, held, needed } = refusal
  return JSON.stringify({
    request: requestId,
    key: keyId,
    code,
    model: shorten(model),
    param: shorten(param),
    ip,
    limit,
    used,
    held,
    needed,
  } satisfies Record<Exclude<keyof z.input<typeof gatewayEntry>, 'at'>, unknown>)
}

/** Without characters that JSON writes as six. */
function shorten(text: string | null): string | undefined {
  return text
    ?.slice(0, listedLengthMax)
    .toWellFormed()
    .replaceAll(/\p{Cc}/gu, ' ')
}

/**
 * The last rejections of an organization, newest first: at most 1,000, of the last 7 days. Some may be missing: Redis may
 * have lost them, and one that this version does not understand is left out.
 *
 * @throws RedisUnavailable
 */
export async function readRefusals(
  redis: RedisServers,
  organizationId: string,
): Promise<readonly ListedRefusal[]> {
  return readRecent(await readEntries(redis, organizationId))
}

/**
 * The rejection of one request, if the organization's list has it.
 *
 * @throws RedisUnavailable
 */
export async function findRefusal(
  redis: RedisServers,
  organizationId: string,
  requestId: string,
): Promise<ListedRefusal | undefined> {
  const sinceMs = (timeOfRequest(requestId) ?? 0) - clockDifferenceMs
  // New entries move the others back: none is missed, some are read twice.
  for (let from = 0; ; from += readAtOnce) {
    const entries = await readEntries(redis, organizationId, from, from + readAtOnce - 1)
    const found = readRecent(entries.filter((entry) => entry.includes(requestId)))
    const refused = found.find((one) => one.requestId === requestId)
    const oldest = entries.slice(-1).flatMap(parseEntry)[0]
    if (refused !== undefined || entries.length < readAtOnce) return refused
    if (oldest !== undefined && oldest.atMs < sinceMs) return undefined
  }
}

function readEntries(
  redis: RedisServers,
  organizationId: string,
  from = 0,
  to = -1,
): Promise<readonly string[]> {
  const connection = redis.connectionOf(shardOf(organizationId))
  return connection.ask((commands) => commands.lrange(refusedName(organizationId), from, to))
}

function readRecent(entries: readonly string[]): readonly ListedRefusal[] {
  const sinceMs = Date.now() - listedMs
  return entries.flatMap(parseEntry).filter(({ atMs }) => atMs > sinceMs)
}

/**
 * Organizations whose last rejection was at this time or later, nearest to it first, at most `countMax`: one of them has
 * the rejection of that time, unless a thousand came after it.
 *
 * @throws RedisUnavailable
 */
export async function listRefusedSince(
  redis: RedisServers,
  sinceMs: number,
  countMax: number,
): Promise<readonly string[]> {
  const lists = await Promise.all(
    allShards.map((shard) =>
      redis
        .connectionOf(shard)
        .ask((commands) =>
          commands.zrangebyscore(
            recentlyRefusedName(shard),
            sinceMs,
            '+inf',
            'WITHSCORES',
            'LIMIT',
            0,
            countMax,
          ),
        ),
    ),
  )
  return lists
    .flatMap(pairsOf)
    .sort((one, other) => one.atMs - other.atMs)
    .slice(0, countMax)
    .map(({ organizationId }) => organizationId)
}

/** A reply with scores: members and scores in turn. */
function pairsOf(
  reply: readonly string[],
): readonly { readonly organizationId: string; readonly atMs: number }[] {
  return reply.flatMap((organizationId, at) =>
    at % 2 === 0 ? [{ organizationId, atMs: Number(reply[at + 1]) }] : [],
  )
}

function parseEntry(entry: string): readonly ListedRefusal[] {
  const json = readJson(entry)
  const byAdmit = admitEntry.safeParse(json)
  if (byAdmit.success) return [ofAdmit(byAdmit.data)]
  const byGateway = gatewayEntry.safeParse(json)
  return byGateway.success ? [ofGateway(byGateway.data)] : []
}

function ofAdmit(entry: z.output<typeof admitEntry>): ListedRefusal {
  const { at, request, key, model, reason, budget, limit, used, held, needed, reset } = entry
  return {
    requestId: request,
    keyId: key,
    model,
    reason,
    code: codes[reason],
    param: null,
    ip: null,
    budget: budgetOf(reason, budget),
    atMs: at,
    limit: toldAs(reason, limit),
    used: toldAs(reason, used),
    held: toldAs(reason, held),
    needed: toldAs(reason, needed),
    resetsAtMs: reset === undefined ? null : Number(reset),
  }
}

function ofGateway({ at, request, key, code, ...entry }: z.output<typeof gatewayEntry>): ListedRefusal {
  const none = { budget: null, resetsAtMs: null }
  return { ...entry, ...none, requestId: request, keyId: key, reason: code, code, atMs: at }
}

/** Entries of older versions are of a key's day. */
function budgetOf(reason: AdmitReason, text: string | undefined): ListedRefusal['budget'] {
  if (!budgetReasons.has(reason)) return null
  const [scope = '', symbol = ''] = (text ?? 'k:d').split(':')
  return { scope: scopeOf(scope), period: periodOf(symbol) }
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function toldAs(reason: AdmitReason, text: string | undefined): number | string | null {
  const counted = countedBy[reason]
  if (text === undefined || counted === null) return null
  return counted === 'units' ? Number(text) : formatRub(nanoRub(BigInt(text)))
}
