import { ReplyError } from 'ioredis'
import { DatabaseError, type Pool } from 'pg'
import type { Posting } from '../../admission/posting.ts'
import type { WaitingCharge, WaitingEntry } from '../../admission/waiting-entry.ts'
import { dataErrorOf } from '../../db/data-error.ts'
import { inTransaction } from '../../db/transaction.ts'
import { type PostedBatch, postBatch } from '../../ledger/post-batch.ts'
import type { Shard } from '../../redis/shard.ts'
import type { RefusedOfShard } from './lost-rows.ts'
import { rejectCharge } from './reject-charge.ts'
import { endIfUnknown } from './unknown-key.ts'
import type { WorkerLocks } from './worker-locks.ts'

/** Entries of one batch, all of one shard: it takes Postgres some milliseconds, and Redis two. */
const entriesPerBatchMax = 200
/** Shards that are settled at once: where Postgres is far away most of a batch's time is waiting. */
const shardsAtOnceMax = 4
/** A pass goes on for so long where shards have more than a batch; the others are looked at again after it. */
const passMs = 500
/** Longest wait for an account that somebody holds. Then its shard waits for the next pass, and no other one for it. */
const lockTimeoutMs = 1_000

export type SettlementDeps = {
  readonly pool: Pool
  readonly posting: Posting
  readonly locks: WorkerLocks
  /** Told of each entry that Postgres will never take; a person must look at it. */
  readonly onRejected: (rejection: {
    readonly shard: Shard
    readonly streamId: string
    readonly why: string
  }) => void
  readonly onPosted: (count: number) => void
  /** Told of each key that was ended since Postgres does not have it (`unknown-key.ts`). */
  readonly onUnknownKey: (keyId: string) => void
  /** Copies balances and key-days of which Redis has newer ones (`lost-rows.ts`). */
  readonly copyRefused: (refused: readonly RefusedOfShard[]) => Promise<unknown>
}

/**
 * One pass of settlement: moves what waits in the shards of this worker into the ledger.
 *
 * An entry leaves Redis only after Postgres has committed it, or keeps it among the rejected ones. A pass may be
 * killed at any point and done again by anybody: `post_batch` books a request once, and `apply` lowers `pending`
 * only for an entry that it itself removed.
 *
 * A worker that cannot reach Redis or book in Postgres stands back: another one may.
 */
export async function settleWaitingCharges(deps: SettlementDeps): Promise<'more' | 'idle'> {
  const shards = await deps.locks.takeShards()
  try {
    return await settleShards(deps, shards)
  } catch (error) {
    if (!isOfOneShard(error)) await deps.locks.standBack()
    throw error
  }
}

async function settleShards(deps: SettlementDeps, shards: readonly Shard[]): Promise<'more' | 'idle'> {
  const endsAtMs = performance.now() + passMs
  const reads = await Promise.allSettled(shards.map((shard) => readBatch(deps, shard)))
  const failures: unknown[] = reads.flatMap((read) => (read.status === 'rejected' ? [read.reason] : []))
  const waiting = reads.flatMap((read) => (read.status === 'fulfilled' ? [read.value] : []))
  const queue: (Batch | Shard)[] = waiting.filter(({ entries }) => entries.length > 0)
  let hasMore = false

  /** Shards take turns, each with one batch, whoever has many. */
  async function settleInTurn(): Promise<void> {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      try {
        const batch = typeof next === 'number' ? await readBatch(deps, next) : next
        await settle(deps, batch)
        if (batch.entries.length < entriesPerBatchMax) continue
        if (performance.now() < endsAtMs) queue.push(batch.shard)
        else hasMore = true
      } catch (error) {
        failures.push(error)
        if (!isOfOneShard(error)) queue.length = 0
      }
    }
  }
  await Promise.all(Array.from({ length: shardsAtOnceMax }, settleInTurn))
  if (failures.length > 0) throw failures.find((failure) => !isOfOneShard(failure)) ?? failures[0]
  return hasMore ? 'more' : 'idle'
}

type Batch = { readonly shard: Shard; readonly entries: readonly WaitingEntry[] }

async function readBatch({ posting }: SettlementDeps, shard: Shard): Promise<Batch> {
  return { shard, entries: await posting.readCharges(shard, entriesPerBatchMax) }
}

/**
 * Whether the trouble may be one shard's own, for which the others do not wait: Postgres or Redis have answered, and not
 * that they let nobody in.
 */
export function isOfOneShard(error: unknown): boolean {
  if (error instanceof DatabaseError) return !outOfReach.test(error.code ?? '')
  return error instanceof ReplyError
}

/** SQLSTATEs of whoever is not let in: connection (08), authorization (28), too many connections (53), shutting down (57P). */
const outOfReach = /^(?:08|28|53|57P)/

async function settle(deps: SettlementDeps, { shard, entries }: Batch): Promise<void> {
  for (const entry of entries)
    if (entry.kind === 'malformed') await reject(deps, shard, entry, { sqlstate: null, why: entry.problem })
  const charges = entries.filter((entry) => entry.kind === 'charge')
  const { balances, keyDays } = await bookOrBisect(deps, shard, charges)
  const { refused } = await deps.posting.apply(shard, { entries, balances, keyDays })
  deps.onPosted(charges.length)
  await deps.copyRefused(refused.map((row) => ({ ...row, shard })))
}

/** Books in order; a batch that Postgres calls bad is halved until the bad entry stands alone and is put aside. */
async function bookOrBisect(
  deps: SettlementDeps,
  shard: Shard,
  charges: readonly WaitingCharge[],
): Promise<PostedBatch> {
  const [first] = charges
  if (first === undefined) return { balances: [], keyDays: [] }
  try {
    return await inTransaction(deps.pool, (client) => postBatch(client, charges), { lockTimeoutMs })
  } catch (error) {
    const sqlstate = dataErrorOf(error)
    if (sqlstate === undefined) throw error
    if (charges.length === 1) {
      const why = error instanceof Error ? error.message : String(error)
      await reject(deps, shard, first, { sqlstate, why })
      return { balances: [], keyDays: [] }
    }
  }
  const half = Math.ceil(charges.length / 2)
  const before = await bookOrBisect(deps, shard, charges.slice(0, half))
  const after = await bookOrBisect(deps, shard, charges.slice(half))
  return {
    balances: [...before.balances, ...after.balances],
    keyDays: [...before.keyDays, ...after.keyDays],
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
