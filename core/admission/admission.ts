import type { KeyHash } from '../keys/key.ts'
import { type ChargeKind, rankOf } from '../ledger/charge-kind.ts'
import { type RequestRecord, recordText } from '../ledger/request-record.ts'
import { type RedisServers, RedisUnavailable, type Unless } from '../redis/redis-connection.ts'
import type { Lane, Script } from '../redis/script-call.ts'
import { readReply, type ScriptReply } from '../redis/script-reply.ts'
import { epochName, type Shard, shardOf } from '../redis/shard.ts'
import {
  type AddressUnchecked,
  type AdmitAnswer,
  type ClientAddress,
  type Hold,
  type Inspection,
  parseAdmitAnswer,
  parseInspection,
  parseMark,
  parseSettled,
  type RefusedKey,
  refusedUnseen,
  type Settled,
  type ShardMark,
  withdrawn,
} from './admission-reply.ts'
import { type AddressCheck, createAddressCheck } from './internal/address-check.ts'
import { gatewayScripts } from './internal/scripts.ts'
import { type GatewayRefusal, refusalText } from './listed-refusals.ts'

/** One model that may serve a request, and what it may cost there, in nano-rubles. */
export type Candidate = {
  readonly model: string
  /** The tokens that count in TPM. */
  readonly tokens: number
  /** Of the prompt and the request itself, whatever the answer. */
  readonly promptNano: bigint
  /** Of one output token in every choice; 0: the answer costs nothing. */
  readonly outputTokenNano: bigint
  readonly output: OutputWish
}

/** Output tokens of one answer: as many as the request names (`limit`), else as many as its balance allows. */
type OutputWish =
  | { readonly limit: number }
  /** `usual` is held if an eighth of the available amount is less; `longest`: `null` if it is unknown. */
  | { readonly limit: null; readonly usual: number; readonly longest: number | null }

/** The end of a request, ready to be posted. Kept by the gateway until Postgres has it. */
export type Charge = {
  readonly hold: Hold
  readonly chargeKind: ChargeKind
  readonly costNano: bigint
  /** Tokens that the request really used, for TPM; `null`: no provider was called, so it counts in RPM neither and leaves no entry. */
  readonly tokens: number | null
  readonly record: RequestRecord
}

/** A running request as `renew` reports it. */
export type Running = {
  readonly hold: Hold
  /** Cost of the content delivered so far; posted if this gateway dies. Never less than in an earlier report. */
  readonly costNano: bigint
  /** The record that a sweep would post: outcome `swept`, the tokens delivered so far. */
  readonly record: RequestRecord
}

type Renewed = {
  readonly mark: ShardMark
  /** Ids of requests that have ended in Redis: settled, or swept because their renewals came too late. */
  readonly ended: readonly string[]
}

/**
 * The gateway's side of Redis. Each call is one script, atomic, in one shard; time is Redis's own. Requests
 * of one key share a call while another one for that key is under way (`call-lanes.ts`).
 *
 * A key with a list of networks is rejected (`ip_not_allowed`) before anything else of it is checked, unless the address is
 * in one of them; without an address it is in none.
 *
 * A rejection is an answer. Every call throws `RedisUnavailable` when Redis does not answer in time or is not
 * connected; then it is unknown whether the script ran, and every one of them may be sent again.
 */
export type Admission = {
  /** Reads a key without using anything up. `unavailable` is never a 401. */
  inspect(shard: Shard, secretHash: KeyHash, address?: ClientAddress): Promise<Inspection>
  /** As `inspect`, and counts one request in RPM, no tokens: one that was read and then rejected. Twice counts twice. */
  count(shard: Shard, secretHash: KeyHash, address?: ClientAddress): Promise<Inspection>
  /** As `inspect`, and takes one count of tokens, of ten times the key's RPM in a minute on all gateways together. */
  takeTokenCount(shard: Shard, secretHash: KeyHash, address?: ClientAddress): Promise<Inspection>
  /**
   * Authenticates, checks state, balance, RPM, TPM and budgets, and places a hold. The hold covers the
   * most expensive candidate that fits, and never exceeds the available balance and budget. All of it or
   * nothing. A repeated request id returns the same hold.
   *
   * `record` is what a sweep posts if this gateway dies: outcome `swept`, no tokens. `timeoutMs`: how long
   * the request may run. Its hold outlives its lease until then, since a gateway that is cut off continues to
   * deliver.
   */
  admit(request: {
    readonly requestId: string
    readonly shard: Shard
    readonly secretHash: KeyHash
    readonly address?: ClientAddress
    readonly candidates: readonly Candidate[]
    readonly record: RequestRecord
    readonly timeoutMs: number
    /** `bound`: if it is too large it will be measured and asked for again, so that its owner sees no rejection yet. */
    readonly attempt?: 'final' | 'bound'
    /** Asked right before the call is sent, which may wait for others of its key. */
    readonly hasLeft?: () => boolean
  }): Promise<AdmitAnswer>
  /**
   * Adds rejections that this gateway decided to an organization's list, oldest first; `admit` lists its own. Twice lists
   * twice.
   */
  list(organizationId: string, refusals: readonly GatewayRefusal[]): Promise<void>
  /**
   * Turns a hold into a charge and appends it to the stream. A repeated call with one kind returns the first
   * result.
   *
   * @param untilMs Redis's clock, as `Hold.deadlineMs`. After it nothing is posted and the result is `late`,
   * because the waiting client was sent an error without a charge. Defaults to no limit.
   */
  settle(charge: Charge, untilMs?: number): Promise<Settled>
  /**
   * Gives the hold of a request back for which no provider was called: it counts in RPM no more, and leaves a record of
   * cost 0. Unknown request: only remembered as ended.
   */
  void(ended: {
    readonly hold: Pick<Hold, 'requestId' | 'shard'>
    readonly record: RequestRecord
  }): Promise<Settled>
  /**
   * Extends the leases of running requests, also of those that were swept, notes what they delivered, and makes a hold
   * again that Redis has lost. An empty list only asks for the mark; a long one is sent in parts, each read when the one
   * before was answered.
   */
  renew(shard: Shard, running: Iterable<Running>): Promise<Renewed>
}

export type AdmissionOptions = {
  /** How long a hold lives without a renewal. Default 20 s. */
  readonly leaseMs?: number
  /** Admission stops when the oldest charge not in Postgres is this old. Default 10 min. */
  readonly unpostedAgeMsMax?: number
  /** Whether a shard's server has memory for lists of rejections. Default always. */
  readonly mayList?: (shard: Shard) => boolean
  /** Added to Redis's clock inside the scripts, so that tests can move the time; 0 in production. */
  readonly clockOffsetMs?: () => number
}

/** How long a hold lives without a renewal, milliseconds; renewals come every 5 s. */
export const leaseMsDefault = 20_000
const unpostedAgeMsMaxDefault = 600_000
/**
 * Requests renewed by one script, 10 to 20 µs each, plus as much to reply: other scripts wait only briefly.
 */
const renewedPerCallMax = 50
/**
 * 4 million rubles: below 2^53, so that Lua's doubles compare it exactly, and more expensive than any one
 * request.
 */
export const amountNanoMax = 4_000_000_000_000_000n

/** The gateway's side of the shards that `redis` leads to. */
export function createAdmission(redis: RedisServers, options: AdmissionOptions = {}): Admission {
  const leaseMs = options.leaseMs ?? leaseMsDefault
  const unpostedAgeMsMax = options.unpostedAgeMsMax ?? unpostedAgeMsMaxDefault
  const offset = () => options.clockOffsetMs?.() ?? 0
  const mayList = options.mayList ?? (() => true)
  const { run, runInLane } = createCalls(redis)
  const atAddress = createAddressCheck()
  const askOfKey = createKeyQuestion(redis, { run, offset, atAddress })

  return {
    inspect: (...of) => askOfKey(gatewayScripts.inspect, ...of),
    count: (...of) => askOfKey(gatewayScripts.count, ...of),
    takeTokenCount: (...of) => askOfKey(gatewayScripts.tokenCount, ...of),
    async admit(request) {
      const { requestId, shard, secretHash, address, candidates, record } = request
      const { timeoutMs, attempt = 'final', hasLeft } = request
      const runId = redis.connectionOf(shard).runId()
      if (runId === undefined) return refusedUnseen
      const headFor = (ipsId: string) => [offset(), runId, secretHash, leaseMs, unpostedAgeMsMax, ipsId]
      const listing = mayList(shard) ? attempt : `${attempt} unlisted`
      const args = [requestId, recordText(record), timeoutMs, listing, candidates.length]
      for (const candidate of candidates) args.push(...candidateArguments(candidate))
      try {
        return await atAddress(secretHash, address, (ipsId) =>
          runInLane(
            { script: gatewayScripts.admit, shard, of: '', head: headFor(ipsId) },
            args,
            (reply): AdmitAnswer | AddressUnchecked<RefusedKey> => parseAdmitAnswer(reply, requestId, shard),
            hasLeft && (() => (hasLeft() ? withdrawn : undefined)),
          ),
        )
      } catch (error) {
        // Nothing was held, so there is nothing to give back.
        if (error instanceof RedisUnavailable && error.mayHaveRun === 'no') return refusedUnseen
        throw error
      }
    },
    async list(organizationId, refusals) {
      if (!mayList(shardOf(organizationId))) return
      const entries = refusals.flatMap((refusal) => [Math.round(refusal.agoMs), refusalText(refusal)])
      const args = [offset(), organizationId, ...entries]
      await run(gatewayScripts.list, shardOf(organizationId), args, () => undefined)
    },
    settle(charge, untilMs) {
      const { shard, keyId } = charge.hold
      const lane = { script: gatewayScripts.settle, shard, of: keyId, head: [offset()] }
      return runInLane(lane, [...chargeArguments(charge), untilMs ?? ''], parseSettled)
    },
    void({ hold, record }) {
      return run(
        gatewayScripts.void,
        hold.shard,
        [offset(), hold.requestId, recordText(record)],
        parseSettled,
      )
    },
    async renew(shard, running) {
      const ended: string[] = []
      const parts = partsOf(running)
      for (;;) {
        const { value: part, done } = parts.next()
        const args = part.flatMap(renewalArguments)
        const reply = await run(gatewayScripts.renew, shard, [offset(), leaseMs, ...args], (said) => said)
        const mark = parseMark(reply)
        ended.push(...reply.rest())
        if (done) return { mark, ended }
      }
    },
  }
}

/** Asks one of the scripts about a key. */
function createKeyQuestion(
  redis: RedisServers,
  deps: Pick<ReturnType<typeof createCalls>, 'run'> & {
    readonly offset: () => number
    readonly atAddress: AddressCheck
  },
) {
  const { run, offset, atAddress } = deps
  return async (
    script: Script,
    shard: Shard,
    secretHash: KeyHash,
    address?: ClientAddress,
  ): Promise<Inspection> => {
    const runId = redis.connectionOf(shard).runId()
    if (runId === undefined) return refusedUnseen
    return await atAddress(secretHash, address, (ipsId) =>
      run(script, shard, [offset(), runId, secretHash, ipsId], parseInspection),
    )
  }
}

/** Calls of a shard's scripts, one by one or in lanes. */
function createCalls(redis: RedisServers) {
  return {
    run: <Answer>(
      script: Script,
      shard: Shard,
      args: readonly (string | number)[],
      read: (reply: ScriptReply) => Answer,
    ) => redis.connectionOf(shard).run(script, [epochName(shard)], args, (reply) => read(readReply(reply))),
    runInLane: <Answer>(
      { shard, ...lane }: Omit<Lane, 'keys'> & { readonly shard: Shard },
      args: readonly (string | number)[],
      read: (reply: ScriptReply) => Answer,
      unless?: Unless<Answer>,
    ) => {
      const connection = redis.connectionOf(shard)
      const keyed = { ...lane, keys: [epochName(shard)] }
      return connection.runInLane(keyed, args, (reply) => read(readReply(reply)), unless)
    },
  }
}

function chargeArguments({ hold, chargeKind, costNano, tokens, record }: Charge) {
  const { requestId, organizationId, keyId, day, owners } = hold
  const cost = costText(costNano)
  const text = recordText(record)
  return [requestId, rankOf(chargeKind), cost, tokens ?? 'none', organizationId, keyId, day, owners, text]
}

function candidateArguments({ model, tokens, promptNano, outputTokenNano, output }: Candidate) {
  const costs = [cappedText(promptNano), cappedText(outputTokenNano)]
  if (output.limit !== null) return [model, tokens, ...costs, output.limit, 0, 0]
  return [model, tokens, ...costs, '', output.usual, output.longest ?? 0]
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
  const { requestId, organizationId, keyId, day, owners, second, holdNano, tokens, deadlineMs } = hold
  // A cost too large to post is no reason to skip the renewal: the same call renews the others of its shard.
  const progress = [cappedText(costNano), recordText(record)]
  return [
    requestId,
    ...progress,
    organizationId,
    keyId,
    day,
    owners,
    second,
    cappedText(holdNano),
    tokens,
    deadlineMs,
  ]
}

function cappedText(amount: bigint): string {
  return String(amount > amountNanoMax ? amountNanoMax : amount)
}

function costText(amount: bigint): string {
  if (amount < 0n || amount > amountNanoMax)
    throw new RangeError(`${amount} is not a possible cost of one request`)
  return String(amount)
}
