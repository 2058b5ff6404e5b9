import { setTimeout as pause } from 'node:timers/promises'
import type { Admission, Charge } from '#core/admission/admission'
import type { Hold, Settled } from '#core/admission/admission-reply'
import type { RequestRecord } from '#core/ledger/request-record'
import type { Shard } from '#core/redis/shard'
import { createKeptCharges } from './internal/kept-charges.ts'
import { createShardSync } from './internal/shard-sync.ts'
import { createOpenRequests, type OpenRequest } from './open-requests.ts'

export type ChargeKeeperOptions = {
  readonly admission: Admission
  /** Number of the present connection to the server of a shard. */
  readonly connectionNumber: (shard: Shard) => number
  /** Time between renewals of the leases, and between looks at what is posted. A lease lasts four of them. */
  readonly renewEveryMs: number
  /** How long a last byte waits for Redis to acknowledge its charge. */
  readonly patienceMs: number
  readonly bufferedChargesMax: number
  readonly now: () => number
  /** Called when a command failed. The buffered charge is resent. */
  readonly onUnavailable: (error: unknown) => void
  /** Called for each shard resync, with the number of buffered charges that were resent. */
  readonly onNewGeneration?: (resentCount: number) => void
}

/**
 * Keeps this replica's money safe from Redis: renews the holds of running requests, posts their charges, and keeps
 * every charge until Postgres has it, so that a Redis that lost its data gets everything again.
 */
export type ChargeKeeper = {
  /** How long a last byte waits for Redis to acknowledge its charge, milliseconds. */
  readonly patienceMs: number
  /** True when no further charge could be kept: then nothing may be admitted. */
  isFull(): boolean
  /** Renews the hold of an admitted request until `book`, `release` or `abandon` ends that. */
  track(request: OpenRequest): void
  /**
   * Posts a charge and resolves once Redis has acknowledged it, or with `undefined` after `patienceMs` of
   * silence.
   *
   * The buffered charge to resend then depends on what the client received. `streamed` has all its content,
   * so the same charge. `plain` gets nothing, so a correction to 0, in case the charge was posted unseen. A
   * Redis that only hung does not post it after `untilMs`, by its own clock, because this replica may have
   * stopped by then.
   */
  book(charge: Charge, answer: BookedAnswer): Promise<Settled | undefined>
  /**
   * Releases a hold without a charge. If the request was rejected before a provider was called, it no longer
   * counts in RPM and leaves no record. Tried once now, then with each renewal until Redis accepts it.
   */
  release(hold: Hold, record: RequestRecord): Promise<void>
  /**
   * Stops renewing a hold, as if this replica had died: its lease ends, and a sweep posts what was delivered.
   */
  abandon(hold: Hold): void
  /** Numbers for the metrics. */
  state(): { readonly open: number; readonly kept: number; readonly oldestKeptAtMs: number | undefined }
  /** Buffered charges that Redis is not known to have. */
  unacknowledgedCount(): number
  /**
   * Waits until Redis has acknowledged every buffered charge, however long Redis is unavailable: no other
   * copy exists. For Postgres to have them, too, it waits at most `withinMs` in all. Returns how many
   * Postgres is not known to have.
   */
  flush(withinMs: number): Promise<number>
  stop(): void
}

/**
 * The kind of response that waits for its charge: a stream, or a non-streaming response whose charge Redis
 * may post until its clock reaches `untilMs`.
 */
export type BookedAnswer =
  | { readonly kind: 'streamed' }
  | { readonly kind: 'plain'; readonly untilMs: number }

/** Pause between two tries to post one charge, and between two checks while flushing. */
const retryPauseMs = 50
/** Pause between two looks while flushing into a Redis that stays unavailable. */
const awayPauseMs = 500

/** A keeper that begins to renew at once; stop it with `stop`. */
export function createChargeKeeper(options: ChargeKeeperOptions): ChargeKeeper {
  const { now, onUnavailable, onNewGeneration = () => undefined } = options
  const kept = createKeptCharges()
  const open = createOpenRequests()
  const sync = createShardSync({ ...options, onNewGeneration, kept, open })

  let isTelling = false
  async function tellEverything(): Promise<void> {
    isTelling = true
    // One after the other: all at once would delay every other request by the whole volume.
    for (const shard of new Set([...open.shards(), ...kept.shards()]))
      await sync.tell(shard).catch(onUnavailable)
    isTelling = false
  }

  /**
   * A shard that has lost 100,000s of charges takes longer than a lease to receive them again. No lease waits
   * for that.
   */
  async function renewLeases(): Promise<void> {
    for (const shard of open.shards())
      await options.admission.renew(shard, open.running(shard)).catch(onUnavailable)
  }

  const renew = () => (isTelling ? renewLeases() : tellEverything())

  const timer = setInterval(() => void renew(), options.renewEveryMs)
  return {
    patienceMs: options.patienceMs,
    isFull: () => kept.size >= options.bufferedChargesMax,
    track: open.add,
    async book(charge, answer) {
      open.remove(charge.hold)
      kept.keep(charge, now(), answer.kind === 'plain' ? answer.untilMs : undefined)
      for (const giveUpAtMs = now() + options.patienceMs; now() < giveUpAtMs; await pause(retryPauseMs)) {
        try {
          const settled = await sync.send(charge)
          if (settled.chargeId !== 'late') return settled
          break
        } catch (error) {
          onUnavailable(error)
        }
      }
      if (answer.kind === 'plain') kept.keep(correctionOf(charge), now())
      return undefined
    },
    async release(hold, record) {
      open.remove(hold)
      const tokens = isSpared(record) ? null : 0
      const charge: Charge = { hold, chargeKind: 'released', costNano: 0n, tokens, record }
      kept.keep(charge, now())
      await sync.send(charge).catch(onUnavailable)
    },
    abandon: open.remove,
    unacknowledgedCount: sync.unacknowledgedCount,
    state: () => ({ open: open.count(), kept: kept.size, oldestKeptAtMs: kept.oldestAtMs() }),
    async flush(withinMs) {
      const giveUpAtMs = now() + withinMs
      const isLate = () => now() >= giveUpAtMs
      while (kept.size > 0 && (!isLate() || sync.unacknowledgedCount() > 0)) {
        await renew()
        await pause(isLate() ? awayPauseMs : retryPauseMs)
      }
      return kept.size
    },
    stop: () => clearInterval(timer),
  }
}

/** Who leaves at once, gives a request no time, or has too many did that himself: left out of RPM, nothing would limit how often. */
function isSpared({ attempts, outcome, errorCode }: RequestRecord): boolean {
  return (
    attempts.length === 0 && outcome !== 'client_gone' && !(errorCode !== null && ownDoing.has(errorCode))
  )
}

const ownDoing: ReadonlySet<string> = new Set(['upstream_timeout', 'rate_limit_exceeded'])

/** Corrects a charge whose client got an error. Takes precedence over the charge in every store. */
function correctionOf(charge: Charge): Charge {
  return {
    ...charge,
    chargeKind: 'corrected',
    costNano: 0n,
    record: { ...charge.record, outcome: 'unsettled', status: 503, errorCode: 'service_unavailable' },
  }
}
