import { z } from 'zod'
import { formatRub, nanoRub } from '../ledger/money.ts'
import type { RedisConnection } from '../redis/redis-connection.ts'
import { allShards, recentlyRefusedName, refusedName } from '../redis/shard.ts'
import type { AdmitRefusal } from './admission-reply.ts'

/** A request that `admit` rejected, with the numbers in its error. */
export type ListedRefusal = {
  readonly requestId: string
  readonly keyId: string
  /** The model asked for. */
  readonly model: string
  readonly reason: ListedReason
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

type ListedReason = Exclude<AdmitRefusal['reason'], 'unknown_key' | 'unavailable' | 'already_ended'>

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
  budget_reserved: 'nanoRub',
  request_exceeds_balance: 'nanoRub',
  request_exceeds_budget: 'nanoRub',
} as const satisfies Record<ListedReason, 'units' | 'nanoRub' | null>

const number = z.string().regex(/^-?\d{1,18}$/)

/** As `refuse` in `admit.lua` writes it. Entries of older versions have no numbers. */
const entrySchema = z.object({
  at: z.number(),
  request: z.string(),
  key: z.string(),
  model: z.string(),
  reason: z.enum(Object.keys(countedBy) as ListedReason[]),
  limit: number.optional(),
  used: number.optional(),
  held: number.optional(),
  needed: number.optional(),
  reset: number.optional(),
})

/**
 * The last rejections of an organization, newest first, at most 100. Some may be missing: Redis may have lost them, and one
 * that this version does not understand is left out.
 *
 * @throws RedisUnavailable
 */
export async function readRefusals(
  connection: RedisConnection,
  organizationId: string,
): Promise<readonly ListedRefusal[]> {
  const entries = await connection.ask((redis) => redis.lrange(refusedName(organizationId), 0, -1))
  return entries.flatMap((entry) => findRefusal(entry) ?? [])
}

/**
 * Organizations whose last rejection was at this time or later, nearest to it first, at most `countMax`: one of them has
 * the rejection of that time, unless it was the first of a hundred.
 *
 * @throws RedisUnavailable
 */
export async function listRefusedSince(
  connection: RedisConnection,
  sinceMs: number,
  countMax: number,
): Promise<readonly string[]> {
  const lists = await Promise.all(
    allShards.map((shard) =>
      connection.ask((redis) =>
        redis.zrangebyscore(recentlyRefusedName(shard), sinceMs, '+inf', 'WITHSCORES', 'LIMIT', 0, countMax),
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

function findRefusal(entry: string): ListedRefusal | undefined {
  const parsed = entrySchema.safeParse(readJson(entry))
  if (!parsed.success) return undefined
  const { at, request, key, model, reason, limit, used, held, needed, reset } = parsed.data
  return {
    requestId: request,
    keyId: key,
    model,
    reason,
    atMs: at,
    limit: toldAs(reason, limit),
    used: toldAs(reason, used),
    held: toldAs(reason, held),
    needed: toldAs(reason, needed),
    resetsAtMs: reset === undefined ? null : Number(reset),
  }
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function toldAs(reason: ListedReason, text: string | undefined): number | string | null {
  const counted = countedBy[reason]
  if (text === undefined || counted === null) return null
  return counted === 'units' ? Number(text) : formatRub(nanoRub(BigInt(text)))
}
