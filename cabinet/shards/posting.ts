import type { KeyHash } from '../keys/key.ts'
import type { RequestRecord } from '../ledger/request-record.ts'
import type { ChargeRank, ShardMark } from './admission.ts'
import type { RedisConnection } from './redis-connection.ts'
import type { Shard } from './shard.ts'

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
  /** When it was appended, Unix milliseconds by Redis's clock. */
  readonly atMs: number
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

/** A row of Postgres on its way into a shard. Only a version newer than the one there changes anything. */
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

/** A shard's epoch as it lies in Redis. */
export type Epoch = { readonly nonce: string; readonly runId: string; readonly opensAtMs: number }

/** The worker's side of Redis. Every call throws `RedisUnavailable` on an outage, and may be sent again. */
export type Posting = {
  /** The oldest entries of a shard's stream, at most `count`, in order. Never throws on what an entry says. */
  readCharges(shard: Shard, count: number): Promise<readonly WaitingEntry[]>
  /**
   * Takes entries out that Postgres has committed (or rejected): only what this very call removes is taken back
   * from `pending`. Sets the balances and key-days that `post_batch` answered where they are newer.
   *
   * `streamIds` are the head of the stream, in order: `posted_through` advances to the last of them.
   */
  apply(
    shard: Shard,
    booked: {
      readonly streamIds: readonly string[]
      readonly balances: readonly PostedBalance[]
      readonly keyDays: readonly PostedKeyDay[]
    },
  ): Promise<ShardMark>
  /** Copies rows into a shard, each guarded by its version, and moves the shard's cursor with them. */
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
   * `kept`: it has an epoch of this very run already. `lost`: Redis lost data or restarted since `beginEpoch`, or
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
  /** Revision of the catalogue in Redis; `null`: none there, publish it again. */
  readCatalogueRevision(): Promise<bigint | null>
}

export type PostingOptions = {
  /** As in `AdmissionOptions`: how long a hold lives without a renewal. */
  readonly leaseMs?: number
  /** A shard that nobody swept for so long is given a whole lease first. 10 s unless said. */
  readonly sweepGapMsMax?: number
  /** Added to Redis's clock inside the scripts; tests only. */
  readonly clockOffsetMs?: () => number
}

/** The worker's side of the shards that `connection` leads to. */
export function createPosting(_connection: RedisConnection, _options: PostingOptions = {}): Posting {
  throw new Error('not written yet')
}
