import type { KeyHash } from '../keys/key.ts'
import { type RequestRecord, recordText } from '../ledger/request-record.ts'
import { parseAdmitAnswer, parseInspection, parseMark, parseSettled } from './admission-reply.ts'
import { type RedisConnection, RedisUnavailable, type Script } from './redis-connection.ts'
import { readReply, type ScriptReply } from './script-reply.ts'
import { scripts } from './scripts.ts'
import { epochName, type Shard } from './shard.ts'

/** Which past a shard has. Another `nonce` than before means that Redis may have lost what it acknowledged. */
export type ShardMark = {
  readonly nonce: string
  /** Stream id: every charge up to it is in Postgres. */
  readonly postedThrough: string
}

/** One limit of a key, as the `x-ratelimit-*` headers say it. */
export type LimitState = { readonly limit: number; readonly remaining: number; readonly resetMs: number }

export type RateLimits = { readonly rpm: LimitState; readonly tpm: LimitState }

/** One model that may serve a request, with the most it is expected to cost. */
export type Candidate = { readonly model: string; readonly holdNano: bigint; readonly tokens: number }

/** Why a key, whatever it asks for, gets nothing. */
export type KeyRefusal =
  | { readonly reason: 'unknown_key' | 'revoked_key' | 'expired_key' | 'insufficient_balance' }
  | { readonly reason: 'blocked_key'; readonly blockedBy: 'owner' | 'admin' | 'kubernetes' }

/** Why this request, now, gets nothing. Amounts are nano-roubles. */
export type AdmitRefusal =
  | KeyRefusal
  | { readonly reason: 'model_not_allowed' }
  | { readonly reason: 'request_too_large_for_tpm'; readonly limit: number; readonly tokens: number }
  | {
      readonly reason: 'daily_budget_exceeded' | 'budget_reserved'
      readonly limitNano: bigint
      /** Posted and pending, without what is held. */
      readonly usedNano: bigint
      /** When the Moscow day ends, Unix milliseconds by Redis's clock. */
      readonly resetsAtMs: number
    }
  | { readonly reason: 'rpm' | 'tpm'; readonly limits: RateLimits; readonly retryAfterMs: number }
  | { readonly reason: 'balance_reserved' }
  /**
   * The shard's epoch is absent, of another Redis run, or not open yet; charges wait for Postgres too long; or Redis is
   * away or full, and surely held nothing.
   */
  | { readonly reason: 'unavailable' }
  /** The request id has ended already (a late command). */
  | { readonly reason: 'already_ended' }

/** A hold as its gateway knows it; enough to settle even when Redis has lost it. */
export type Hold = {
  readonly requestId: string
  readonly shard: Shard
  readonly organizationId: string
  readonly keyId: string
  /** Moscow day of admission, in days since 1970-01-01; hold and charge both count there. */
  readonly day: number
  /** Second of admission by Redis's clock: the TPM bucket that settle corrects. */
  readonly second: number
  readonly holdNano: bigint
  readonly tokens: number
}

export type Admitted = {
  readonly hold: Hold
  /** Indexes of the candidates that this key may use. The first is always among them. */
  readonly allowed: readonly number[]
  readonly limits: RateLimits
  readonly mark: ShardMark
}

export type AdmitAnswer =
  | ({ readonly outcome: 'admitted' } & Admitted)
  | ({ readonly outcome: 'refused' } & AdmitRefusal)

/** What a key may do and has used. Amounts are nano-roubles. */
export type KeyState = {
  readonly organizationId: string
  readonly keyId: string
  readonly allowedModels: readonly string[] | null
  readonly expiresAtMs: number | null
  readonly readBalance: boolean
  readonly limits: RateLimits
  readonly day: {
    readonly limitNano: bigint | null
    readonly usedNano: bigint
    readonly heldNano: bigint
    readonly resetsAtMs: number
  }
  readonly balance: { readonly postedNano: bigint; readonly pendingNano: bigint; readonly heldNano: bigint }
}

export type Inspection =
  | { readonly outcome: 'usable'; readonly key: KeyState }
  | ({ readonly outcome: 'refused' } & (KeyRefusal | { readonly reason: 'unavailable' }))

/** 0 = void or sweep, 1 = settle, 2 = correction. A later entry counts only when its rank is higher. */
export type ChargeRank = 0 | 1 | 2

/** The end of a request, ready to be booked. Kept by the gateway until Postgres has it. */
export type Charge = {
  readonly hold: Hold
  readonly rank: ChargeRank
  readonly costNano: bigint
  /** Tokens that the request really used, for TPM. */
  readonly tokens: number
  readonly record: RequestRecord
}

export type Settled = {
  /** Id of the entry in the `charges` stream; `null` where nothing was appended. */
  readonly chargeId: string | null
  /** The cost that counts: that of the first settle, when this one came twice. */
  readonly costNano: bigint
  readonly mark: ShardMark
}

/** A running request as `renew` reports it. */
export type Running = {
  readonly hold: Hold
  /** Cost of what was delivered so far; booked if this gateway dies. Never less than in an earlier report. */
  readonly costNano: bigint
  /** What a sweep would book: outcome `swept`, the tokens delivered so far. */
  readonly record: RequestRecord
}

export type Renewed = {
  readonly mark: ShardMark
  /** Ids of requests that have ended in Redis: settled, or swept because their renewals came too late. */
  readonly ended: readonly string[]
}

/**
 * The gateway's side of Redis. Each call is one script, atomic, in one shard; time is Redis's own.
 *
 * A refusal is an answer. Every call throws `RedisUnavailable` when Redis does not answer in time or is not
 * connected; then it is unknown whether the script ran, and every one of them may be sent again.
 */
export type Admission = {
  /** Reads a key without using anything up. `unavailable` is never a 401. */
  inspect(shard: Shard, credential: KeyHash): Promise<Inspection>
  /**
   * Authenticates, checks state, balance, RPM, TPM and daily budget, and holds the dearest allowed candidate:
   * all of it or nothing. The same request id twice answers the same hold.
   *
   * `record` is what a sweep would book if this gateway died: outcome `swept`, no tokens.
   */
  admit(request: {
    readonly requestId: string
    readonly shard: Shard
    readonly credential: KeyHash
    readonly candidates: readonly Candidate[]
    readonly record: RequestRecord
  }): Promise<AdmitAnswer>
  /** Turns a hold into a charge and appends it to the stream. Twice with one rank: the first answer again. */
  settle(charge: Charge): Promise<Settled>
  /** Gives a hold back; an admitted request leaves a record of cost 0. Unknown request: only remembered as ended. */
  void(ended: {
    readonly hold: Pick<Hold, 'requestId' | 'shard'>
    readonly record: RequestRecord
  }): Promise<Settled>
  /**
   * Extends the leases of running requests, notes what they delivered, raises a hold to 1.5 × the cost so far
   * once that passes 80 % of it, and makes a hold again that Redis has lost. An empty list only asks for the mark;
   * a long one is sent in parts, each read when the one before was answered.
   */
  renew(shard: Shard, running: Iterable<Running>): Promise<Renewed>
}

export type AdmissionOptions = {
  /** How long a hold lives without a renewal. 20 s unless said. */
  readonly leaseMs?: number
  /** Age of the oldest charge that Postgres has not taken, from which on nothing is admitted. 10 min unless said. */
  readonly unpostedAgeMsMax?: number
  /** Added to Redis's clock inside the scripts, so that tests can move the time; 0 in production. */
  readonly clockOffsetMs?: () => number
}

/** How long a hold lives without a renewal, milliseconds; renewals come every 5 s. */
export const leaseMsDefault = 20_000
const unpostedAgeMsMaxDefault = 600_000
/** Requests renewed by one script, 10 to 20 µs each, and as much to say so: nobody waits long behind it. */
const renewedPerCallMax = 50
/** 4 million roubles: below 2^53, so that Lua's doubles compare it exactly, and dearer than any one request. */
export const amountNanoMax = 4_000_000_000_000_000n

/** The gateway's side of the shards that `connection` leads to. */
export function createAdmission(connection: RedisConnection, options: AdmissionOptions = {}): Admission {
  const leaseMs = options.leaseMs ?? leaseMsDefault
  const unpostedAgeMsMax = options.unpostedAgeMsMax ?? unpostedAgeMsMaxDefault
  const offset = () => options.clockOffsetMs?.() ?? 0
  const run = <Answer>(
    script: Script,
    shard: Shard,
    args: readonly (string | number)[],
    read: (reply: ScriptReply) => Answer,
  ) => connection.run(script, [epochName(shard)], args, (reply) => read(readReply(reply)))

  return {
    async inspect(shard, credential) {
      const runId = connection.runId()
      if (runId === undefined) return { outcome: 'refused', reason: 'unavailable' }
      return await run(scripts.inspect, shard, [offset(), runId, credential], parseInspection)
    },
    async admit({ requestId, shard, credential, candidates, record }) {
      const runId = connection.runId()
      if (runId === undefined) return { outcome: 'refused', reason: 'unavailable' }
      const text = recordText(record)
      const args = [offset(), runId, credential, requestId, leaseMs, unpostedAgeMsMax, text]
      for (const { model, holdNano, tokens } of candidates) args.push(model, holdText(holdNano), tokens)
      try {
        return await run(scripts.admit, shard, args, (reply) => parseAdmitAnswer(reply, requestId, shard))
      } catch (error) {
        // Nothing was held, so there is nothing to give back.
        if (error instanceof RedisUnavailable && error.mayHaveRun === 'no')
          return { outcome: 'refused', reason: 'unavailable' }
        throw error
      }
    },
    settle({ hold, rank, costNano, tokens, record }) {
      const { requestId, organizationId, keyId, day } = hold
      const facts = [requestId, rank, costText(costNano), tokens, organizationId, keyId, day]
      return run(scripts.settle, hold.shard, [offset(), ...facts, recordText(record)], parseSettled)
    },
    void({ hold, record }) {
      return run(scripts.void, hold.shard, [offset(), hold.requestId, recordText(record)], parseSettled)
    },
    async renew(shard, running) {
      const ended: string[] = []
      const parts = partsOf(running)
      for (;;) {
        const { value: part, done } = parts.next()
        const args = part.flatMap(renewalArguments)
        const reply = await run(scripts.renew, shard, [offset(), leaseMs, ...args], (said) => said)
        const mark = parseMark(reply)
        ended.push(...reply.rest())
        if (done) return { mark, ended }
      }
    },
  }
}

/** Whole parts one by one, then what is left, which may be nothing. */
function* partsOf(running: Iterable<Running>): Generator<Running[], Running[]> {
  let part: Running[] = []
  for (const each of running) {
    part.push(each)
    if (part.length < renewedPerCallMax) continue
    yield part
    part = []
  }
  return part
}

function renewalArguments({ hold, costNano, record }: Running): readonly (string | number)[] {
  const facts = [hold.organizationId, hold.keyId, hold.day, hold.second, holdText(hold.holdNano), hold.tokens]
  return [hold.requestId, costText(costNano), recordText(record), ...facts]
}

function holdText(amount: bigint): string {
  return String(amount > amountNanoMax ? amountNanoMax : amount)
}

function costText(amount: bigint): string {
  if (amount < 0n || amount > amountNanoMax) throw new RangeError(`not the cost of one request: ${amount}`)
  return String(amount)
}
