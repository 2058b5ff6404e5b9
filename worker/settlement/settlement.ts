import { ReplyError } from 'ioredis'
import { DatabaseError, type Pool } from 'pg'
import { dataErrorOf } from '../../db/data-error.ts'
import { inTransaction } from '../../db/transaction.ts'
import { type PostedBatch, postBatch } from '../../ledger/post-batch.ts'
import type { Shard } from '../../redis/shard.ts'
import type { ShardLocks } from '../shard-locks.ts'
import type { RefusedOfShard } from './lost-rows.ts'
import type { Posting } from './posting.ts'
import { rejectCharge } from './reject-charge.ts'
import { endIfUnknown } from './unknown-key.ts'
import type { WaitingCharge, WaitingEntry } from './waiting-entry.ts'

/** Entries of one batch, all of one shard: some milliseconds for Postgres, two for Redis. */
const entriesPerBatchMax = 200
/** Shards settled at once: with a distant Postgres most of a batch's time is waiting. */
const shardsAtOnceMax = 4
/** How long a pass continues with shards that have more than one batch, before it looks at the others again. */
const passMs = 500
/** Longest wait for a locked account. Then its shard waits for the next pass, and no other shard waits for it. */
const lockTimeoutMs = 1_000

export type SettlementDeps = {
  readonly pool: Pool
  readonly posting: Posting
  readonly locks: ShardLocks
  /** Called for each entry that Postgres will never accept; a person must look at it. */
  readonly onRejected: (rejection: {
    readonly shard: Shard
    readonly streamId: string
    readonly why: string
  }) => void
  readonly onPosted: (count: number) => void
  /** Called for each key revoked in Redis because Postgres does not have it (`unknown-key.ts`). */
  readonly onUnknownKey: (keyId: string) => void
  /** Copies balances and key-days that Redis refused because it has newer ones (`lost-rows.ts`). */
  readonly copyRefused: (refused: readonly RefusedOfShard[]) => Promise<unknown>
}

/**
 * One pass of settlement: moves what waits in the shards of this worker into the ledger.
 *
 * An entry leaves Redis only after Postgres has committed it, booked or rejected. A pass may be killed at any point
 * and repeated by any worker: `post_batch` books a request once, and `apply` lowers `pending`
 * only for an entry that it itself removed.
 *
 * A worker that cannot reach Redis or book in Postgres stands back, so that another one may.
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

  /** Shards take turns, one batch each, however much one has waiting. */
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
 * Whether the failure may concern one shard only, so that the others need not wait: Postgres or Redis answered, and not
 * with a refusal to connect.
 */
export function isOfOneShard(error: unknown): boolean {
  if (error instanceof DatabaseError) return !outOfReach.test(error.code ?? '')
  return error instanceof ReplyError
}

/** SQLSTATEs of a refused connection: connection (08), authorization (28), too many connections (53), shutting down (57P). */
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

/** Books in order. A batch that Postgres rejects as bad data is halved until the bad entry stands alone and is moved aside. */
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
