import { ReplyError } from 'ioredis'
import { DatabaseError, type Pool } from 'pg'
import { dataErrorOf } from '../db/data-error.ts'
import { inTransaction } from '../db/transaction.ts'
import { type PostedBatch, postBatch } from '../ledger/post-batch.ts'
import { rejectCharge } from '../ledger/reject-charge.ts'
import type { Posting, WaitingCharge, WaitingEntry } from '../shards/posting.ts'
import type { Shard } from '../shards/shard.ts'
import type { RefusedOfShard } from './lost-rows.ts'
import type { WorkerLocks } from './worker-locks.ts'

/** Entries read from one shard in one pass: a batch of this size takes a few milliseconds in Postgres. */
const entriesPerPassMax = 200

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
  /** Copies balances and key-days of which Redis has newer ones (`lost-rows.ts`). */
  readonly copyRefused: (refused: readonly RefusedOfShard[]) => Promise<unknown>
}

/**
 * One pass of settlement: moves what waits in the shards of this worker into the ledger.
 *
 * An entry leaves Redis only after Postgres has committed it, or keeps it among the rejected ones. A pass may be
 * killed at any point and done again by anybody: `post_batch` books a request once, and `apply` lowers `pending`
 * only for an entry that it itself removed.
 */
export async function settleWaitingCharges(deps: SettlementDeps): Promise<'more' | 'idle'> {
  const shards = await deps.locks.takeShards()
  const reads = await Promise.allSettled(
    shards.map(async (shard) => ({
      shard,
      entries: await deps.posting.readCharges(shard, entriesPerPassMax),
    })),
  )
  const waiting = reads.flatMap((read) => (read.status === 'fulfilled' ? read.value : []))
  const failures: unknown[] = reads.flatMap((read) => (read.status === 'rejected' ? [read.reason] : []))
  for (const { shard, entries } of waiting) {
    try {
      if (entries.length > 0) await settle(deps, shard, entries)
    } catch (error) {
      if (!isOfOneShard(error)) throw error
      failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
  return waiting.some(({ entries }) => entries.length === entriesPerPassMax) ? 'more' : 'idle'
}

/** Postgres and Redis have answered, so the trouble may be one shard's own: the others do not wait for it. */
function isOfOneShard(error: unknown): boolean {
  return error instanceof DatabaseError || error instanceof ReplyError
}

async function settle(deps: SettlementDeps, shard: Shard, entries: readonly WaitingEntry[]): Promise<void> {
  for (const entry of entries)
    if (entry.kind === 'malformed') await reject(deps, shard, entry, { sqlstate: null, why: entry.problem })
  const charges = entries.filter((entry) => entry.kind === 'charge')
  const { balances, keyDays } = await bookOrBisect(deps, shard, charges)
  const streamIds = entries.map(({ streamId }) => streamId)
  const { refused } = await deps.posting.apply(shard, { streamIds, balances, keyDays })
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
    return await inTransaction(deps.pool, (client) => postBatch(client, charges))
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
}
