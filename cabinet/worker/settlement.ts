import { ReplyError } from 'ioredis'
import { DatabaseError, type Pool } from 'pg'
import { dataErrorOf } from '../db/data-error.ts'
import { inTransaction } from '../db/transaction.ts'
import { type PostedBatch, postBatch } from '../ledger/post-batch.ts'
import type { Posting } from '../shards/posting.ts'
import type { Shard } from '../shards/shard.ts'
import type { WaitingCharge, WaitingEntry } from '../shards/waiting-entry.ts'
import type { RefusedOfShard } from './lost-rows.ts'
import { rejectCharge } from './reject-charge.ts'
import { endIfUnknown } from './unknown-key.ts'
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

async function settle(deps: SettlementDeps, shard: Shard, entries: readonly WaitingEntry[]): Promise<void> {
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
  if (entry.kind === 'charge' && (await endIfUnknown(deps, shard, entry.keyId)))
    deps.onUnknownKey(entry.keyId)
}
