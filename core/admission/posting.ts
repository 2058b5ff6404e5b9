import { rankOf } from '../ledger/charge-kind.ts'
import type { EndedRequest } from '../ledger/ended-requests.ts'
import type { PostedBalance, PostedKeyDay, PostedWindow } from '../ledger/post-batch.ts'
import { windowOf } from '../ledger/spend-window.ts'
import { askServers } from '../redis/ask-servers.ts'
import { type RedisConnection, type RedisServers, RedisUnavailable } from '../redis/redis-connection.ts'
import type { Script } from '../redis/script-call.ts'
import { oneOf, readReply, type ScriptReply } from '../redis/script-reply.ts'
import { allShards, chargesName, epochName, type Shard, shardName } from '../redis/shard.ts'
import { leaseMsDefault } from './admission.ts'
import { parseMark, type ShardMark } from './admission-reply.ts'
import type { CountedNames, WrongSum } from './counted-names.ts'
import { findNames } from './internal/find-names.ts'
import { workerScripts } from './internal/scripts.ts'
import { whileMoving } from './internal/while-moving.ts'
import {
  type Copied,
  copyRows,
  ownerOf,
  type ProjectedRow,
  postedText,
  type RefusedRow,
  readRefused,
} from './projected-rows.ts'
import { type NamedEntry, namesOf, parseEntry, type WaitingEntry } from './waiting-entry.ts'

/** A shard's epoch as stored in Redis. */
type Epoch = {
  readonly nonce: string
  readonly runId: string
  /** Of the present run of the server that has the shard; others are closed. */
  readonly isOfThisRun: boolean
  /** By the clock of Redis: 0 or less once it is open. */
  readonly opensInMs: number
}

/** The entries of one shard that were posted. */
type Booked = {
  readonly entries: readonly NamedEntry[]
  readonly balances: readonly PostedBalance[]
  readonly keyDays: readonly PostedKeyDay[]
  readonly windows?: readonly PostedWindow[]
  /** Of the swept requests among the entries, those that their gateway has ended: nothing of them stays on hold. */
  readonly ended?: readonly EndedRequest[]
}

/** The worker's side of Redis. Every call throws `RedisUnavailable` on an outage, and may be sent again. */
export type Posting = {
  /**
   * Those of these shards where entries wait: this is asked many times a second. None of a server that is unavailable,
   * unless all are.
   */
  shardsWithCharges(shards: readonly Shard[]): Promise<readonly Shard[]>
  /**
   * The oldest entries of a shard's stream, at most `count`, in order. Never throws on the content of an
   * entry.
   */
  readCharges(shard: Shard, count: number): Promise<readonly WaitingEntry[]>
  /**
   * Removes entries that Postgres has committed or rejected. Only what this very call removes is subtracted
   * from `pending`. Sets the balances, daily key spends and windows that `post_batch` returned unless newer ones are
   * there.
   *
   * `entries` are the head of the stream, in order: `posted_through` advances to the last of them that was
   * there. `refused`: those rows for which a newer value is there.
   */
  apply(shard: Shard, booked: Booked): Promise<ShardMark & { readonly refused: readonly RefusedRow[] }>
  /**
   * Copies rows into a shard, each unless a newer version is there, and moves the shard's cursor with them.
   */
  project(shard: Shard, rows: readonly ProjectedRow[], cursor: string | null): Promise<Copied>
  /**
   * Copies rows over newer versions that Postgres has lost: each where Redis still has exactly `newerVersion`, or none
   * newer than the row. Answers those that it rejected again.
   */
  projectOver(shard: Shard, rows: readonly RefusedRow[]): Promise<readonly RefusedRow[]>
  /**
   * Recalculates what is pending and held in a shard from its entries and holds. Reconciles each sum that
   * differs and returns those. Schedules a sweep of holds that no sweep would find.
   *
   * `too_many`: more entries wait for Postgres than one call reads, so nothing was done.
   */
  recount(shard: Shard, named: CountedNames): Promise<readonly WrongSum[] | 'too_many'>
  /**
   * All names in these shards, known to Postgres or not. Scans all of Redis without blocking other clients.
   */
  findNames(shards: readonly Shard[]): Promise<ReadonlyMap<Shard, CountedNames>>
  /** Projection cursors of all shards, by shard; `null` if there is none, or its server is unavailable and others are not. */
  readCursors(): Promise<readonly (string | null)[]>
  /**
   * Epochs of all shards, by shard; `null` if there is none: that shard must be loaded and opened. `undefined`: its server is unavailable, and others are not.
   */
  readEpochs(): Promise<readonly (Epoch | null | undefined)[]>
  /** Whether the shards may be on several servers, so that some may be unavailable and others not. */
  isSpread(): boolean
  /**
   * Records that a load of this shard begins. If Redis loses anything from here on, `openEpoch` returns
   * `lost`.
   */
  beginEpoch(shard: Shard, nonce: string): Promise<void>
  /**
   * Opens a shard `opensInMs` from now, after everything was projected into it.
   *
   * `kept`: it has an epoch of this very run already that does not open later than that. `lost`: Redis lost data or restarted since `beginEpoch`, or
   * another load began; load again.
   */
  openEpoch(shard: Shard, nonce: string, opensInMs: number): Promise<'opened' | 'kept' | 'lost'>
  /**
   * Lets a shard go on serving that was moved to its present server by one that still runs: only the run id in its epoch
   * changes.
   *
   * `other`: its epoch is missing or of a server that has not handed it over, so it must be loaded.
   */
  handOver(shard: Shard): Promise<'handed_over' | 'current' | 'other'>
  /**
   * Handles the requests whose gateway has not renewed them for a lease, at most `countMax` of them. It posts
   * what they delivered, once, and releases the rest of their holds at their deadlines.
   *
   * `waiting`: the shard was not swept for long, or its epoch is new, so gateways get a whole lease first.
   */
  sweep(
    shard: Shard,
    countMax: number,
  ): Promise<{
    readonly state: 'swept' | 'waiting'
    readonly swept: number
    readonly booked: number
    readonly mark: ShardMark
  }>
}

export type PostingOptions = {
  /** As in `AdmissionOptions`: how long a hold lives without a renewal. */
  readonly leaseMs?: number
  /** A shard that was not swept for so long is given a whole lease first. Default 10 s. */
  readonly sweepGapMsMax?: number
  /** Added to Redis's clock inside the scripts; tests only. */
  readonly clockOffsetMs?: () => number
}

const sweepGapMsMaxDefault = 10_000

/** The worker's side of the shards that `redis` leads to. */
export function createPosting(redis: RedisServers, options: PostingOptions = {}): Posting {
  const run = <Answer>(
    script: Script,
    shard: Shard,
    args: readonly (string | number)[],
    read: (reply: unknown) => Answer,
  ) =>
    whileMoving(redis, shard, () =>
      redis
        .connectionOf(shard)
        .run(script, [epochName(shard)], [options.clockOffsetMs?.() ?? 0, ...args], read),
    )

  const copyTo = (shard: Shard) => (args: readonly (string | number)[]) =>
    run(workerScripts.project, shard, args, readReply)

  return {
    shardsWithCharges: (shards) => findShardsWithCharges(redis, shards),
    readCharges: (shard, count) =>
      whileMoving(redis, shard, () => readCharges(redis.connectionOf(shard), shard, count)),
    async apply(shard, booked) {
      const reply = await run(workerScripts.apply, shard, bookedArguments(booked), readReply)
      return { ...parseMark(reply), refused: readRefused(reply, rowsOf(booked)) }
    },
    async project(shard, rows, cursor) {
      const plain = rows.map((row) => ({ row }))
      return await copyRows(copyTo(shard), plain, cursor)
    },
    async projectOver(shard, rows) {
      return (await copyRows(copyTo(shard), rows, null)).refused
    },
    async recount(shard, { requestIds, organizationIds, keyIds, memberIds, days, entriesMax }) {
      const lists = [requestIds, organizationIds, keyIds, memberIds].flatMap((ids) => [ids.length, ...ids])
      const args = [entriesMax, options.leaseMs ?? leaseMsDefault, days, ...lists]
      const reply = await run(workerScripts.recount, shard, args, readReply)
      if (oneOf(reply.text(), ['counted', 'too_many']) === 'too_many') return 'too_many'
      return wrongSumsOf(reply.rest())
    },
    findNames: (shards) => findNames(redis, shards),
    async readCursors() {
      const found = await ofEachShard(redis, readCursors)
      return allShards.map((shard) => found.get(shard) ?? null)
    },
    async readEpochs() {
      const found = await ofEachShard(redis, (...of) => readEpochs(...of, options.clockOffsetMs?.() ?? 0))
      return allShards.map((shard) => found.get(shard))
    },
    isSpread: () => redis.kind() === 'cluster',
    async beginEpoch(shard, nonce) {
      const connection = redis.connectionOf(shard)
      const loading = `${nonce} ${runIdOf(connection)}`
      await connection.ask((commands) => commands.hset(shardName(shard), 'loading', loading))
    },
    async openEpoch(shard, nonce, opensInMs) {
      const args = [nonce, runIdOf(redis.connectionOf(shard)), opensInMs]
      return await run(workerScripts.openEpoch, shard, args, (answer) =>
        oneOf(answer, ['opened', 'kept', 'lost']),
      )
    },
    handOver: async (shard) =>
      run(workerScripts.handOver, shard, handOverArguments(redis, shard), (answer) =>
        oneOf(answer, ['handed_over', 'current', 'other']),
      ),
    async sweep(shard, countMax) {
      const gapMs = options.sweepGapMsMax ?? sweepGapMsMaxDefault
      const args = [countMax, options.leaseMs ?? leaseMsDefault, gapMs]
      return await run(workerScripts.sweep, shard, args, (reply) => parseSwept(readReply(reply)))
    },
  }
}

function parseSwept(reply: ScriptReply): Awaited<ReturnType<Posting['sweep']>> {
  return {
    state: oneOf(reply.text(), ['swept', 'waiting']),
    swept: reply.whole(),
    booked: reply.whole(),
    mark: parseMark(reply),
  }
}

async function readCharges(
  connection: RedisConnection,
  shard: Shard,
  count: number,
): Promise<readonly WaitingEntry[]> {
  const entries = await connection.ask((redis) => redis.xrange(chargesName(shard), '-', '+', 'COUNT', count))
  return entries.map(([streamId, fields]) => parseEntry(streamId, fields))
}

type OfShards<Value> = readonly (readonly [Shard, Value])[]

/** One value for each shard whose server answers. @throws RedisUnavailable if none does. */
async function ofEachShard<Value>(
  redis: RedisServers,
  read: (connection: RedisConnection, shards: readonly Shard[]) => Promise<OfShards<Value>>,
): Promise<ReadonlyMap<Shard, Value>> {
  return new Map((await askServers(redis, read)).flat())
}

async function readCursors(
  connection: RedisConnection,
  shards: readonly Shard[],
): Promise<OfShards<string | null>> {
  return await connection.ask((redis) =>
    Promise.all(shards.map(async (shard) => [shard, await redis.hget(shardName(shard), 'cursor')] as const)),
  )
}

async function findShardsWithCharges(
  redis: RedisServers,
  shards: readonly Shard[],
): Promise<readonly Shard[]> {
  const find = redis.kind() === 'cluster' ? findOneByOne : findTogether
  return (await askServers(redis, find, shards)).flat()
}

/** In one command for each shard: a cluster rejects one that names several. */
async function findOneByOne(
  connection: RedisConnection,
  shards: readonly Shard[],
): Promise<readonly Shard[]> {
  const counts = await connection.ask((redis) =>
    Promise.all(shards.map((shard) => redis.xlen(chargesName(shard)))),
  )
  return shards.filter((_, at) => (counts[at] ?? 0) > 0)
}

/** In one command for all. */
async function findTogether(
  connection: RedisConnection,
  shards: readonly Shard[],
): Promise<readonly Shard[]> {
  const names = new Map(shards.map((shard) => [chargesName(shard), shard]))
  const fromFirst = shards.map(() => '0-0')
  const streams = await connection.ask((redis) =>
    redis.xread('COUNT', 1, 'STREAMS', ...names.keys(), ...fromFirst),
  )
  return (streams ?? []).flatMap(([name]) => names.get(name) ?? [])
}

function rowsOf({ balances, keyDays, windows = [] }: Booked) {
  return [
    ...balances.map((row) => ({ kind: 'organization' as const, ...row })),
    ...keyDays.map((row) => ({ kind: 'key_day' as const, ...row })),
    ...windows.map((row) => ({ kind: 'window' as const, ...row })),
  ]
}

function bookedArguments({
  entries,
  balances,
  keyDays,
  windows = [],
  ended = [],
}: Booked): readonly (string | number)[] {
  return [
    entries.length,
    ...entries.flatMap(namesOf),
    balances.length,
    ...balances.flatMap((row) => [row.organizationId, ...postedText(row)]),
    keyDays.length,
    ...keyDays.flatMap((row) => [row.keyId, row.day, ...postedText(row)]),
    windows.length,
    ...windows.flatMap((row) => [...ownerOf(row), windowOf(row.period, row.day), ...postedText(row)]),
    ended.length,
    ...ended.flatMap(({ requestId, chargeKind, costNano }) => [
      requestId,
      rankOf(chargeKind),
      String(costNano),
    ]),
  ]
}

async function readEpochs(
  connection: RedisConnection,
  shards: readonly Shard[],
  clockOffsetMs: number,
): Promise<OfShards<Epoch | null>> {
  const serverRunId = connection.runId()
  const [seconds, microseconds] = await connection.ask((redis) => redis.time())
  const nowMs = Number(seconds) * 1000 + Number(microseconds) / 1000 + clockOffsetMs
  const epochs = await connection.ask((redis) =>
    Promise.all(shards.map((shard) => redis.hmget(epochName(shard), 'nonce', 'run_id', 'opens_at'))),
  )
  return shards.map((shard, at) => {
    const [nonce, runId, opensAt] = epochs[at] ?? []
    if (!nonce || !runId || !opensAt) return [shard, null]
    const isOfThisRun = serverRunId === runId
    return [shard, { nonce, runId, isOfThisRun, opensInMs: Number(opensAt) - nowMs }]
  })
}

/** The run that this connection talks to now. An epoch is only ever begun and opened on a known one. */
function runIdOf(connection: RedisConnection): string {
  const runId = connection.runId()
  if (runId === undefined) throw new RedisUnavailable('the run id of Redis is not known yet')
  return runId
}

function handOverArguments(redis: RedisServers, shard: Shard): readonly string[] {
  const runId = runIdOf(redis.connectionOf(shard))
  const yieldedBy = redis.yieldedBy(shard)
  return yieldedBy === undefined ? [runId] : [runId, yieldedBy]
}

function wrongSumsOf(items: readonly string[]): readonly WrongSum[] {
  const sums: WrongSum[] = []
  for (let at = 0; at + 3 < items.length; at += 4) {
    const [id = '', field = '', was = '', isNow = ''] = items.slice(at, at + 4)
    sums.push({ id, field, was, isNow })
  }
  return sums
}
