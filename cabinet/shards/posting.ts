import type { Redis } from 'ioredis'
import type { KeyHash } from '../keys/key.ts'
import type { RequestRecord } from '../ledger/request-record.ts'
import { digestOf } from '../models/catalogue-document.ts'
import { type ChargeRank, leaseMsDefault, type ShardMark } from './admission.ts'
import { modelsText, parseMark } from './admission-reply.ts'
import { findReport } from './gateway-report.ts'
import { type RedisConnection, RedisUnavailable, type Script } from './redis-connection.ts'
import { readReply, type ScriptReply } from './script-reply.ts'
import { scripts } from './scripts.ts'
import {
  allShards,
  chargesName,
  epochName,
  gatewaysName,
  routesDigestName,
  routesName,
  routesRevisionName,
  type Shard,
  shardName,
} from './shard.ts'
import { parseEntry } from './waiting-entry.ts'

/** One end of a request, waiting in a shard's stream for Postgres. */
export type WaitingCharge = {
  readonly kind: 'charge'
  /** Id in the stream; `apply` takes it. */
  readonly streamId: string
  readonly requestId: string
  readonly rank: ChargeRank
  readonly organizationId: string
  readonly keyId: string
  /** Moscow day of admission, days since 1970-01-01. */
  readonly day: number
  readonly costNano: bigint
  /** What this entry added to `pending`. Not a price: differs from the cost when an earlier entry counted already. */
  readonly pendingNano: bigint
  readonly record: RequestRecord
}

/** An entry that says nothing we understand. It goes to `charges_rejected` as it is, with an alarm. */
export type MalformedEntry = {
  readonly kind: 'malformed'
  readonly streamId: string
  readonly fields: Readonly<Record<string, string>>
  readonly problem: string
}

export type WaitingEntry = WaitingCharge | MalformedEntry

/** Balance of an organization as Postgres has it. */
export type PostedBalance = {
  readonly organizationId: string
  readonly postedNano: bigint
  readonly version: bigint
}

/** What a key has spent on one day, as Postgres has it. */
export type PostedKeyDay = {
  readonly keyId: string
  readonly day: number
  readonly postedNano: bigint
  readonly version: bigint
}

/** A row of Postgres on its way into a shard. Where a newer version is there it changes nothing. */
export type ProjectedRow =
  | {
      readonly kind: 'credential'
      readonly hash: KeyHash
      readonly version: bigint
      readonly keyId: string
      readonly organizationId: string
      /** End of a rotated secret's grace time, Unix milliseconds; `null`: valid as long as its key. */
      readonly validUntilMs: number | null
      readonly state: 'active' | 'revoked'
    }
  | {
      readonly kind: 'key'
      readonly keyId: string
      readonly version: bigint
      /** A revoked key stays as a tombstone. */
      readonly state: 'active' | 'blocked' | 'revoked'
      /** Set where the state is `blocked`. */
      readonly blockedBy: 'owner' | 'admin' | 'kubernetes' | null
      readonly expiresAtMs: number | null
      readonly rpm: number
      readonly tpm: number
      readonly dailyBudgetNano: bigint | null
      /** Exact names or `provider/*`; `null`: all. */
      readonly allowedModels: readonly string[] | null
      readonly readBalance: boolean
    }
  | ({ readonly kind: 'organization' } & PostedBalance)
  | ({ readonly kind: 'key_day' } & PostedKeyDay)

/** A row of Postgres and the newer version of it that Redis has. */
export type RefusedRow = { readonly row: ProjectedRow; readonly newerVersion: bigint }

/** A shard's epoch as it lies in Redis. `opensInMs`, by Redis's clock: 0 or less once it is open. */
export type Epoch = { readonly nonce: string; readonly runId: string; readonly opensInMs: number }

/** What Redis knows of catalogues. */
export type PublishedCatalogue = {
  /** `null`: none there, publish it again. */
  readonly revision: bigint | null
  /** The highest revision that is there or that a gateway serves: gateways follow higher ones only. */
  readonly followed: bigint
  /** `digestOf` what was published. */
  readonly digest: string | null
  readonly documentCount: number
}

/** The worker's side of Redis. Every call throws `RedisUnavailable` on an outage, and may be sent again. */
export type Posting = {
  /** The oldest entries of a shard's stream, at most `count`, in order. Never throws on what an entry says. */
  readCharges(shard: Shard, count: number): Promise<readonly WaitingEntry[]>
  /**
   * Takes entries out that Postgres has committed (or rejected): only what this very call removes is taken back
   * from `pending`. Sets the balances and key-days that `post_batch` answered unless newer ones are there.
   *
   * `streamIds` are the head of the stream, in order: `posted_through` advances to the last of them that was there.
   * `refused`: the balances and key-days of which a newer one is there.
   */
  apply(
    shard: Shard,
    booked: {
      readonly streamIds: readonly string[]
      readonly balances: readonly PostedBalance[]
      readonly keyDays: readonly PostedKeyDay[]
    },
  ): Promise<ShardMark & { readonly refused: readonly RefusedRow[] }>
  /**
   * Copies rows into a shard, each unless a newer version is there, and moves the shard's cursor with them. `changed`
   * counts the rows that were not there already, whole; `refused` are those of which a newer version is there.
   */
  project(
    shard: Shard,
    rows: readonly ProjectedRow[],
    cursor: string | null,
  ): Promise<{ readonly changed: number; readonly mark: ShardMark; readonly refused: readonly RefusedRow[] }>
  /**
   * Copies rows over newer versions that Postgres has lost: each where Redis still has exactly `newerVersion`, or none
   * newer than the row. Answers those that it refused again.
   */
  projectOver(shard: Shard, rows: readonly RefusedRow[]): Promise<readonly RefusedRow[]>
  /** Projection cursors of all shards, by shard; `null` where there is none. */
  readCursors(): Promise<readonly (string | null)[]>
  /** Epochs of all shards, by shard; `null` where there is none: that shard must be loaded and opened. */
  readEpochs(): Promise<readonly (Epoch | null)[]>
  /** Says that a load of this shard begins. What Redis loses from here on makes `openEpoch` answer `lost`. */
  beginEpoch(shard: Shard, nonce: string): Promise<void>
  /**
   * Opens a shard `opensInMs` from now, after everything was projected into it.
   *
   * `kept`: it has an epoch of this very run already that does not open later than that. `lost`: Redis lost data or restarted since `beginEpoch`, or
   * another load began; load again.
   */
  openEpoch(shard: Shard, nonce: string, opensInMs: number): Promise<'opened' | 'kept' | 'lost'>
  /**
   * Books what requests delivered whose gateway has not renewed them for a lease, at most `countMax` of them.
   *
   * `waiting`: the shard was not swept for long, or its epoch is new, so gateways get a whole lease first.
   */
  sweep(
    shard: Shard,
    countMax: number,
  ): Promise<{ readonly swept: number; readonly state: 'swept' | 'waiting'; readonly mark: ShardMark }>
  /**
   * Makes the catalogue what `documents` says (name → signed document) and announces the revision.
   *
   * `kept`: Redis has this revision or a newer one.
   */
  publishCatalogue(revision: bigint, documents: ReadonlyMap<string, string>): Promise<'published' | 'kept'>
  /** What Redis has of a catalogue. */
  readCatalogue(): Promise<PublishedCatalogue>
}

export type PostingOptions = {
  /** As in `AdmissionOptions`: how long a hold lives without a renewal. */
  readonly leaseMs?: number
  /** A shard that nobody swept for so long is given a whole lease first. 10 s unless said. */
  readonly sweepGapMsMax?: number
  /** Added to Redis's clock inside the scripts; tests only. */
  readonly clockOffsetMs?: () => number
}

const sweepGapMsMaxDefault = 10_000
/** Rows that one script copies, a few µs each: nobody waits long behind it. */
const rowsPerCallMax = 200

/** The worker's side of the shards that `connection` leads to. */
export function createPosting(connection: RedisConnection, options: PostingOptions = {}): Posting {
  const run = <Answer>(
    script: Script,
    shard: Shard,
    args: readonly (string | number)[],
    read: (reply: unknown) => Answer,
  ) => connection.run(script, [epochName(shard)], [options.clockOffsetMs?.() ?? 0, ...args], read)
  const ofEachShard = <Answer>(send: (redis: Redis, shard: Shard) => Promise<Answer>) =>
    connection.ask((redis) => Promise.all(allShards.map((shard) => send(redis, shard))))

  const copyTo = (shard: Shard) => (args: readonly (string | number)[]) =>
    run(scripts.project, shard, args, readReply)

  return {
    async readCharges(shard, count) {
      const entries = await connection.ask((redis) =>
        redis.xrange(chargesName(shard), '-', '+', 'COUNT', count),
      )
      return entries.map(([streamId, fields]) => parseEntry(streamId, fields))
    },
    async apply(shard, { streamIds, balances, keyDays }) {
      const args = [
        ...[streamIds.length, ...streamIds],
        ...[balances.length, ...balances.flatMap((row) => [row.organizationId, ...postedText(row)])],
        ...[keyDays.length, ...keyDays.flatMap((row) => [row.keyId, row.day, ...postedText(row)])],
      ]
      const reply = await run(scripts.apply, shard, args, readReply)
      const rows = [
        ...balances.map((row) => ({ kind: 'organization' as const, ...row })),
        ...keyDays.map((row) => ({ kind: 'key_day' as const, ...row })),
      ]
      return { ...parseMark(reply), refused: readRefused(reply, rows) }
    },
    async project(shard, rows, cursor) {
      const plain = rows.map((row) => ({ row }))
      return await copyRows(copyTo(shard), plain, cursor)
    },
    async projectOver(shard, rows) {
      return (await copyRows(copyTo(shard), rows, null)).refused
    },
    readCursors: () => ofEachShard((redis, shard) => redis.hget(shardName(shard), 'cursor')),
    async readEpochs() {
      const [seconds, microseconds] = await connection.ask((redis) => redis.time())
      const nowMs = Number(seconds) * 1000 + Number(microseconds) / 1000 + (options.clockOffsetMs?.() ?? 0)
      return await ofEachShard((redis, shard) => readEpoch(redis, shard, nowMs))
    },
    async beginEpoch(shard, nonce) {
      const loading = `${nonce} ${runIdOf(connection)}`
      await connection.ask((redis) => redis.hset(shardName(shard), 'loading', loading))
    },
    async openEpoch(shard, nonce, opensInMs) {
      const args = [nonce, runIdOf(connection), opensInMs]
      return await run(scripts.openEpoch, shard, args, (answer) => oneOf(answer, ['opened', 'kept', 'lost']))
    },
    async sweep(shard, countMax) {
      const gapMs = options.sweepGapMsMax ?? sweepGapMsMaxDefault
      const args = [countMax, options.leaseMs ?? leaseMsDefault, gapMs]
      const reply = await run(scripts.sweep, shard, args, readReply)
      return {
        state: oneOf(reply.text(), ['swept', 'waiting']),
        swept: reply.whole(),
        mark: parseMark(reply),
      }
    },
    ...catalogueOf(connection),
  }
}

/** The catalogue lies outside the shards. */
function catalogueOf(connection: RedisConnection): Pick<Posting, 'publishCatalogue' | 'readCatalogue'> {
  return {
    async publishCatalogue(revision, documents) {
      const keys = [routesName, routesRevisionName, routesDigestName]
      const args = [String(revision), digestOf(documents), ...[...documents].flat()]
      const read = (answer: unknown) => oneOf(answer, ['published', 'kept'])
      return await connection.run(scripts.publishCatalogue, keys, args, read)
    },
    async readCatalogue() {
      const [text, digest, documentCount, heartbeats] = await connection.ask((redis) =>
        Promise.all([
          redis.get(routesRevisionName),
          redis.get(routesDigestName),
          redis.hlen(routesName),
          redis.hvals(gatewaysName),
        ]),
      )
      const revision = text === null ? null : BigInt(text)
      const served = heartbeats.map((heartbeat) => findReport(heartbeat)?.revision ?? 0n)
      const [followed = 0n] = [revision ?? 0n, ...served].toSorted((one, other) => (one > other ? -1 : 1))
      return { revision, followed, digest, documentCount }
    },
  }
}

/** A row to be copied, unless there is a newer version than it, other than `newerVersion`. */
type RowOver = { readonly row: ProjectedRow; readonly newerVersion?: bigint }

/** Sends rows to `project.lua`, some at a time, the cursor with the last ones. */
async function copyRows(
  send: (args: readonly (string | number)[]) => Promise<ScriptReply>,
  rows: readonly RowOver[],
  cursor: string | null,
): ReturnType<Posting['project']> {
  let changed = 0
  const refused: RefusedRow[] = []
  for (let at = 0; ; at += rowsPerCallMax) {
    const isLast = at + rowsPerCallMax >= rows.length
    const some = rows.slice(at, at + rowsPerCallMax)
    const reply = await send([isLast ? (cursor ?? '') : '', ...some.flatMap(rowArguments)])
    changed += reply.whole()
    const mark = parseMark(reply)
    const own = some.map(({ row }) => row)
    refused.push(...readRefused(reply, own))
    if (isLast) return { changed, mark, refused }
  }
}

/** Kind, id, version, lost version, count of arguments, arguments: as `project.lua` reads a row. */
function rowArguments({ row, newerVersion }: RowOver): readonly (string | number)[] {
  const [kind, id, args] = copiedOf(row)
  return [kind, id, String(row.version), String(newerVersion ?? ''), args.length, ...args]
}

function copiedOf(row: ProjectedRow): [kind: string, id: string, args: readonly (string | number)[]] {
  switch (row.kind) {
    case 'credential': {
      const fields = {
        key: row.keyId,
        organization: row.organizationId,
        valid_until: row.validUntilMs ?? '',
        state: row.state,
      }
      return ['cred', row.hash, Object.entries(fields).flat()]
    }
    case 'key': {
      const fields = {
        state: row.state,
        blocked_by: row.blockedBy ?? '',
        expires_at: row.expiresAtMs ?? '',
        rpm: row.rpm,
        tpm: row.tpm,
        daily_budget: row.dailyBudgetNano === null ? '' : String(row.dailyBudgetNano),
        models: modelsText(row.allowedModels),
        read_balance: row.readBalance ? 1 : 0,
      }
      return ['key', row.keyId, Object.entries(fields).flat()]
    }
    case 'organization':
      return ['org', row.organizationId, ['posted', String(row.postedNano)]]
    case 'key_day':
      return ['day', row.keyId, [row.day, String(row.postedNano)]]
  }
}

/** What is left of an answer of `project.lua` or `apply.lua`: places of refused rows, each with the newer version. */
function readRefused(reply: ScriptReply, rows: readonly ProjectedRow[]): readonly RefusedRow[] {
  const rest = reply.rest()
  return rest.flatMap((place, at) => {
    const row = at % 2 === 0 ? rows[Number(place)] : undefined
    return row === undefined ? [] : [{ row, newerVersion: BigInt(rest[at + 1] ?? 0) }]
  })
}

function postedText(row: { readonly postedNano: bigint; readonly version: bigint }): readonly string[] {
  return [String(row.postedNano), String(row.version)]
}

async function readEpoch(redis: Redis, shard: Shard, nowMs: number): Promise<Epoch | null> {
  const [nonce, runId, opensAt] = await redis.hmget(epochName(shard), 'nonce', 'run_id', 'opens_at')
  return nonce && runId && opensAt ? { nonce, runId, opensInMs: Number(opensAt) - nowMs } : null
}

/** The run that this connection talks to now. An epoch is only ever begun and opened on a known one. */
function runIdOf(connection: RedisConnection): string {
  const runId = connection.runId()
  if (runId === undefined) throw new RedisUnavailable('run id not known yet')
  return runId
}

function oneOf<const Word extends string>(answer: unknown, words: readonly Word[]): Word {
  const word = words.find((known) => known === answer)
  if (word === undefined) throw new TypeError(`a script answered none of ${words.join(', ')}`)
  return word
}
