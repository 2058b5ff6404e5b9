import type { Redis } from 'ioredis'
import type { KeyHash } from '../keys/key.ts'
import type { RequestRecord } from '../ledger/request-record.ts'
import { digestOf } from '../models/catalogue-document.ts'
import { type ChargeRank, leaseMsDefault, type ShardMark } from './admission.ts'
import { modelsText, parseMark } from './admission-reply.ts'
import { findReport } from './gateway-report.ts'
import { type RedisConnection, RedisUnavailable, type Script } from './redis-connection.ts'
import { readReply } from './script-reply.ts'
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
   */
  apply(
    shard: Shard,
    booked: {
      readonly streamIds: readonly string[]
      readonly balances: readonly PostedBalance[]
      readonly keyDays: readonly PostedKeyDay[]
    },
  ): Promise<ShardMark>
  /**
   * Copies rows into a shard, each unless a newer version is there, and moves the shard's cursor with them. `changed`
   * counts the rows that were not there already, whole.
   */
  project(
    shard: Shard,
    rows: readonly ProjectedRow[],
    cursor: string | null,
  ): Promise<{ readonly changed: number; readonly mark: ShardMark }>
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
      return await run(scripts.apply, shard, args, (reply) => parseMark(readReply(reply)))
    },
    async project(shard, rows, cursor) {
      let changed = 0
      for (let at = 0; ; at += rowsPerCallMax) {
        const isLast = at + rowsPerCallMax >= rows.length
        const args = rows.slice(at, at + rowsPerCallMax).flatMap(rowArguments)
        const reply = await run(scripts.project, shard, [isLast ? (cursor ?? '') : '', ...args], readReply)
        changed += reply.whole()
        if (isLast) return { changed, mark: parseMark(reply) }
      }
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

/** Kind, id, version, count of arguments, arguments: as `project.lua` reads a row. */
function rowArguments(row: ProjectedRow): readonly (string | number)[] {
  switch (row.kind) {
    case 'credential':
      return hashArguments('cred', row.hash, row.version, {
        key: row.keyId,
        organization: row.organizationId,
        valid_until: row.validUntilMs ?? '',
        state: row.state,
      })
    case 'key':
      return hashArguments('key', row.keyId, row.version, {
        state: row.state,
        blocked_by: row.blockedBy ?? '',
        expires_at: row.expiresAtMs ?? '',
        rpm: row.rpm,
        tpm: row.tpm,
        daily_budget: row.dailyBudgetNano === null ? '' : String(row.dailyBudgetNano),
        models: modelsText(row.allowedModels),
        read_balance: row.readBalance ? 1 : 0,
      })
    case 'organization':
      return hashArguments('org', row.organizationId, row.version, { posted: String(row.postedNano) })
    case 'key_day':
      return ['day', row.keyId, String(row.version), 2, row.day, String(row.postedNano)]
  }
}

function hashArguments(
  kind: string,
  id: string,
  version: bigint,
  fields: Readonly<Record<string, string | number>>,
): readonly (string | number)[] {
  const pairs = Object.entries(fields).flat()
  return [kind, id, String(version), pairs.length, ...pairs]
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
