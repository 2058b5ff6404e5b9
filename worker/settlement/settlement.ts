import { ReplyError } from 'ioredis'
import { DatabaseError, type Pool } from 'pg'
import type { Posting } from '#core/admission/posting'
import type { WaitingCharge, WaitingEntry } from '#core/admission/waiting-entry'
import { dataErrorOf } from '#core/db/data-error'
import { inTransaction } from '#core/db/transaction'
import { type EndedRequest, readEndedRequests } from '#core/ledger/ended-requests'
import { type PostedBatch, postBatch } from '#core/ledger/post-batch'
import { RedisUnavailable } from '#core/redis/redis-connection'
import type { Shard } from '#core/redis/shard'
import type { RefusedOfShard } from '../projection/lost-rows.ts'
import type { ShardLocks } from '../projection/shard-locks.ts'
import { type Lanes, lanesOfShard, newestOf, splitByLane } from './internal/lane-batches.ts'
import { rejectCharge } from './internal/reject-charge.ts'
import { endIfUnknown } from './internal/unknown-key.ts'

/** Entries of one batch, all of one lane of a shard: some milliseconds for Postgres, two for Redis. */
const entriesPerBatchMax = 200
/** Batches of different lanes that are taken from Redis by one call, so that it is not blocked for longer than 8 ms. */
const lanesPerTakeMax = 4
/** Shards settled concurrently. With a distant Postgres, most of a batch's time is waiting. */
const shardsAtOnceMax = 4
/** How long a pass continues with shards that have more than one batch before it checks the others again. */
const passMs = 500
/** Longest wait for a locked account. After that, its shard waits for the next pass. Other shards do not wait. */
const lockTimeoutMs = 1_000

export type SettlementDeps = {
  readonly pool: Pool
  readonly posting: Posting
  readonly locks: ShardLocks
  /** Organizations whose charges are posted in several lanes at once. */
  readonly readLanes: () => Promise<Lanes>
  /** Called for each entry that Postgres will never accept. Each needs investigation. */
  readonly onRejected: (rejection: {
    readonly shard: Shard
    readonly streamId: string
    readonly why: string
  }) => void
  readonly onPosted: (count: number) => void
  /** Called for each key revoked in Redis because Postgres does not have it (`unknown-key.ts`). */
  readonly onUnknownKey: (keyId: string) => void
  /** Copies balances and daily key spend that Redis rejected because it has newer versions (`lost-rows.ts`). */
  readonly copyRefused: (refused: readonly RefusedOfShard[]) => Promise<unknown>
}

/**
 * One settlement pass: posts the waiting stream entries of this worker's shards to the ledger.
 *
 * An entry is removed from Redis only after Postgres has committed it, posted or rejected. A pass may be killed at any
 * point and repeated by any worker. `post_batch` posts a request once, and `apply` lowers `pending` only for entries
 * that it removes itself.
 *
 * A worker that cannot reach Redis or post to Postgres waits, so that another one may settle.
 */
export async function settleWaitingCharges(deps: SettlementDeps): Promise<'more' | 'idle'> {
  const shards = await deps.locks.takeShards()
  // One server of several that fails after others have answered concerns only its shards.
  let isOfSome = isOfOneShard
  try {
    const waiting = await shardsToSettle(deps, shards)
    if (deps.posting.isSpread())
      isOfSome = (error) => error instanceof RedisUnavailable || isOfOneShard(error)
    const lanes = waiting.length === 0 ? [] : await deps.readLanes()
    return await settleShards(deps, waiting, lanes, isOfSome)
  } catch (error) {
    if (!isOfSome(error)) await deps.locks.standBack()
    throw error
  }
}

async function settleShards(
  deps: SettlementDeps,
  shards: readonly Shard[],
  lanes: Lanes,
  isOfSome: (error: unknown) => boolean,
): Promise<'more' | 'idle'> {
  const endsAtMs = performance.now() + passMs
  const failures: unknown[] = []
  const queue: Shard[] = [...shards]
  let hasMore = false

  /** Shards take turns, one batch each, regardless of their backlogs. */
  async function settleInTurn(): Promise<void> {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      try {
        const countMax = entriesPerBatchMax * Math.min(lanesOfShard(lanes, next), lanesPerTakeMax)
        const batch = await readBatch(deps, next, countMax)
        await settle(deps, batch, lanes)
        if (batch.entries.length < countMax) continue
        if (performance.now() < endsAtMs) queue.push(batch.shard)
        else hasMore = true
      } catch (error) {
        failures.push(error)
        if (!isOfSome(error)) queue.length = 0
      }
    }
  }
  await Promise.all(Array.from({ length: shardsAtOnceMax }, settleInTurn))
  if (failures.length > 0) throw failures.find((failure) => !isOfSome(failure)) ?? failures[0]
  return hasMore ? 'more' : 'idle'
}

/** Those where entries wait; all, if Redis rejects the question because of one of them. */
async function shardsToSettle(
  { posting }: SettlementDeps,
  shards: readonly Shard[],
): Promise<readonly Shard[]> {
  try {
    return await posting.shardsWithCharges(shards)
  } catch (error) {
    if (!isOfOneShard(error)) throw error
    return shards
  }
}

type Batch = { readonly shard: Shard; readonly entries: readonly WaitingEntry[] }

async function readBatch({ posting }: SettlementDeps, shard: Shard, countMax: number): Promise<Batch> {
  return { shard, entries: await posting.readCharges(shard, countMax) }
}

/**
 * Whether the error may concern only one shard, so that the others need not wait: Postgres or Redis responded, and did
 * not reject the connection.
 */
export function isOfOneShard(error: unknown): boolean {
  if (error instanceof DatabaseError) return !outOfReach.test(error.code ?? '')
  return error instanceof ReplyError
}

/**
 * SQLSTATEs of a rejected connection: connection (08), authorization (28), too many connections (53), shutting down
 * (57P).
 */
const outOfReach = /^(?:08|28|53|57P)/

async function settle(deps: SettlementDeps, { shard, entries }: Batch, lanes: Lanes): Promise<void> {
  if (entries.length === 0) return
  for (const entry of entries)
    if (entry.kind === 'malformed') await reject(deps, shard, entry, { sqlstate: null, why: entry.problem })
  const charges = entries.filter((entry) => entry.kind === 'charge')
  const posted = await bookInLanes(deps, shard, splitByLane(charges, lanes))
  const ended = await endedOfSwept(deps, charges)
  const { refused } = await deps.posting.apply(shard, { entries, ...posted, ended })
  deps.onPosted(charges.length)
  await deps.copyRefused(refused.map((row) => ({ ...row, shard })))
}

/**
 * Of the requests that a sweep billed, those that their gateway has ended: their end was posted, and the server that had
 * it failed before its replica had it, too.
 */
async function endedOfSwept(
  { pool }: SettlementDeps,
  charges: readonly WaitingCharge[],
): Promise<readonly EndedRequest[]> {
  const swept = charges.filter(
    ({ chargeKind, record }) => chargeKind === 'released' && record.outcome === 'swept',
  )
  if (swept.length === 0) return []
  return await readEndedRequests(
    pool,
    swept.map(({ requestId }) => requestId),
  )
}

const nothingPosted: PostedBatch = { balances: [], keyDays: [], windows: [] }

/** Posts the charges of each lane at the same time. Each part ends before this returns or throws. */
async function bookInLanes(
  deps: SettlementDeps,
  shard: Shard,
  parts: readonly (readonly WaitingCharge[])[],
): Promise<PostedBatch> {
  const [only, ...others] = parts
  if (only === undefined || others.length === 0) return bookOrBisect(deps, shard, only ?? [])
  const ends = await Promise.allSettled(parts.map((part) => bookOrBisect(deps, shard, part)))
  const failed = ends.find((end) => end.status === 'rejected')
  if (failed !== undefined) throw failed.reason
  return newestOf(ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : [])))
}

/**
 * Posts in order. A batch that Postgres rejects as bad data is halved until the bad entry is isolated and moved aside.
 */
async function bookOrBisect(
  deps: SettlementDeps,
  shard: Shard,
  charges: readonly WaitingCharge[],
): Promise<PostedBatch> {
  const [first] = charges
  if (first === undefined) return nothingPosted
  try {
    return await inTransaction(deps.pool, (client) => postBatch(client, charges), { lockTimeoutMs })
  } catch (error) {
    const sqlstate = dataErrorOf(error)
    if (sqlstate === undefined) throw error
    if (charges.length === 1) {
      const why = error instanceof Error ? error.message : String(error)
      await reject(deps, shard, first, { sqlstate, why })
      return nothingPosted
    }
  }
  const half = Math.ceil(charges.length / 2)
  const before = await bookOrBisect(deps, shard, charges.slice(0, half))
  const after = await bookOrBisect(deps, shard, charges.slice(half))
  return {
    balances: [...before.balances, ...after.balances],
    keyDays: [...before.keyDays, ...after.keyDays],
    windows: [...before.windows, ...after.windows],
  }
}

async function reject(
  deps: SettlementDeps,
  shard: Shard,
  entry: WaitingEntry,
  because: { readonly sqlstate: string | null; readonly why: string },
): Promise<void> {
  await rejectCharge(deps.pool, { shard, entry, ...because })
  deps.onRejected({ shard, streamId: entry.streamId, why: because.why })
  if (entry.kind === 'charge' && (await endIfUnknown(deps, shard, entry.keyId)))
    deps.onUnknownKey(entry.keyId)
}
