import { setTimeout as pause } from 'node:timers/promises'
import type { Admission, Charge, Hold, Settled, ShardMark } from '#cabinet/admission'
import type { RequestRecord } from '#cabinet/request-record'
import type { Shard } from '#cabinet/shard'
import { createKeptCharges } from './kept-charges.ts'

/** How far a running request has come, in the words of the charge it would get if its gateway died now. */
export type Progress = { readonly costNano: bigint; readonly record: RequestRecord }

/** An admitted request that has not ended. `progress` is asked at every renewal, so it must be cheap. */
export type OpenRequest = { readonly hold: Hold; readonly progress: () => Progress }

export type ChargeKeeperOptions = {
  readonly admission: Admission
  /** Renewal of leases, and of the news about what is posted. A lease lasts four of them. */
  readonly renewEveryMs: number
  /** How long a last byte waits for Redis to acknowledge its charge. */
  readonly patienceMs: number
  readonly keptChargesMax: number
  readonly now: () => number
  /** Told when a background command failed; the command is kept and sent again. */
  readonly onUnavailable: (error: unknown) => void
}

/**
 * Keeps this replica's money safe from Redis: renews the holds of running requests, books their charges, and keeps
 * every charge until Postgres has it, so that a Redis that lost its data gets everything again.
 */
export type ChargeKeeper = {
  /** True when no further charge could be kept: then nothing may be admitted. */
  isFull(): boolean
  /** Renews the hold of an admitted request until `book` or `release` ends it. */
  track(request: OpenRequest): void
  /**
   * Books a charge and answers once Redis has acknowledged it, or `undefined` after `patienceMs` of silence.
   *
   * Then what the client is told decides what is kept and sent again: `streamed` has all its content, so the same
   * charge; `plain` gets nothing, so a correction to 0, in case the charge was booked unseen.
   */
  book(charge: Charge, answer: 'streamed' | 'plain'): Promise<Settled | undefined>
  /** Gives a hold back without a charge. Tried once now, then in the background until Redis takes it. */
  release(hold: Hold, record: RequestRecord): Promise<void>
  /** One round of renewals: every shard with an open hold or a kept charge. Run by a timer; public for the drain. */
  renew(): Promise<void>
  /** Redis may be another one than before: nothing acknowledged counts until it was said again. */
  distrust(): void
  /** Numbers for the metrics. */
  state(): { readonly open: number; readonly kept: number; readonly oldestKeptAtMs: number | undefined }
  /** Sends what is kept until Redis has acknowledged all of it, or `withinMs` have passed; answers what is left. */
  flush(withinMs: number): Promise<number>
  stop(): void
}

/** Commands sent at once when a shard gets everything again. */
const resendBatch = 64
/** Pause between two tries to book one charge. */
const retryPauseMs = 50

export function createChargeKeeper(options: ChargeKeeperOptions): ChargeKeeper {
  const { admission, now } = options
  const kept = createKeptCharges()
  const open = new Map<Shard, Map<string, OpenRequest>>()
  /** Nonce of each shard as last seen; absent = not trusted, so everything kept there is sent again. */
  const nonces = new Map<Shard, string>()
  const resending = new Map<Shard, Promise<void>>()

  function untrack({ shard, requestId }: Hold): void {
    const requests = open.get(shard)
    requests?.delete(requestId)
    if (requests?.size === 0) open.delete(shard)
  }

  /** Sends one kept charge. @throws RedisUnavailable; the charge stays kept. */
  async function send(charge: Charge): Promise<Settled> {
    const settled = await (charge.rank === 0 ? admission.void(charge) : admission.settle(charge))
    if (settled.chargeId === null) kept.drop(charge)
    else kept.acknowledge(charge, settled.chargeId, settled.mark.nonce)
    heed(charge.hold.shard, settled.mark)
    return settled
  }

  /** Draws the conclusions of a mark: another past → say everything again; the same → free what is posted. */
  function heed(shard: Shard, mark: ShardMark): void {
    if (nonces.get(shard) === mark.nonce) kept.freePosted(shard, mark)
    else void sayAgain(shard).catch(options.onUnavailable)
  }

  /** Re-asserts the open holds of a shard, then sends every kept charge that its present past does not know. */
  function sayAgain(shard: Shard): Promise<void> {
    const running = resending.get(shard)
    if (running !== undefined) return running
    const round = (async () => {
      const mark = await admission.renew(shard, renewalsOf(shard))
      const missing = kept.unacknowledged(shard, mark.nonce)
      for (let at = 0; at < missing.length; at += resendBatch)
        await Promise.all(missing.slice(at, at + resendBatch).map(sendQuietly))
      nonces.set(shard, mark.nonce)
      kept.freePosted(shard, mark)
    })().finally(() => resending.delete(shard))
    resending.set(shard, round)
    return round
  }

  /** Like `send`, without heeding the mark: used while a shard is being told everything again. */
  async function sendQuietly(charge: Charge): Promise<void> {
    const settled = await (charge.rank === 0 ? admission.void(charge) : admission.settle(charge))
    if (settled.chargeId === null) kept.drop(charge)
    else kept.acknowledge(charge, settled.chargeId, settled.mark.nonce)
  }

  function renewalsOf(shard: Shard) {
    return [...(open.get(shard)?.values() ?? [])].map(({ hold, progress }) => ({ hold, ...progress() }))
  }

  async function renewAll(): Promise<void> {
    const shards = new Set([...open.keys(), ...kept.shards()])
    await Promise.all([...shards].map((shard) => sayAgain(shard).catch(options.onUnavailable)))
  }

  const timer = setInterval(() => void renewAll(), options.renewEveryMs)

  return {
    isFull: () => kept.size >= options.keptChargesMax,
    track(request) {
      const { shard, requestId } = request.hold
      const requests = open.get(shard) ?? new Map<string, OpenRequest>()
      requests.set(requestId, request)
      open.set(shard, requests)
    },
    async book(charge, answer) {
      untrack(charge.hold)
      kept.keep(charge, now())
      const giveUpAtMs = now() + options.patienceMs
      for (;;) {
        try {
          return await send(charge)
        } catch (error) {
          options.onUnavailable(error)
          if (now() + retryPauseMs >= giveUpAtMs) break
          await pause(retryPauseMs)
        }
      }
      if (answer === 'plain') kept.keep(correctionOf(charge), now())
      return undefined
    },
    async release(hold, record) {
      untrack(hold)
      const charge: Charge = { hold, rank: 0, costNano: 0n, tokens: 0, record }
      kept.keep(charge, now())
      await send(charge).catch(options.onUnavailable)
    },
    renew: renewAll,
    distrust: () => nonces.clear(),
    state: () => ({
      open: [...open.values()].reduce((sum, requests) => sum + requests.size, 0),
      kept: kept.size,
      oldestKeptAtMs: kept.oldestAtMs(),
    }),
    async flush(withinMs) {
      const giveUpAtMs = now() + withinMs
      while (kept.unacknowledgedCount(nonces) > 0 && now() < giveUpAtMs) {
        await renewAll()
        await pause(retryPauseMs)
      }
      return kept.unacknowledgedCount(nonces)
    },
    stop: () => clearInterval(timer),
  }
}

/** Takes back a charge whose client was told that the request failed. Outranks the charge, wherever that is. */
function correctionOf(charge: Charge): Charge {
  return {
    ...charge,
    rank: 2,
    costNano: 0n,
    record: { ...charge.record, outcome: 'unsettled', status: 503, errorCode: 'service_unavailable' },
  }
}
