import { setTimeout as pause } from 'node:timers/promises'
import type { Admission, Charge } from '#cabinet/admission/admission'
import type { Hold, Settled } from '#cabinet/admission/admission-reply'
import type { RequestRecord } from '#cabinet/ledger/request-record'
import { createKeptCharges } from './internal/kept-charges.ts'
import { createShardSync } from './internal/shard-sync.ts'
import { createOpenRequests, type OpenRequest } from './open-requests.ts'

export type ChargeKeeperOptions = {
  readonly admission: Admission
  /** Number of the present connection to Redis. */
  readonly connectionNumber: () => number
  /** Time between renewals of the leases, and between looks at what is posted. A lease lasts four of them. */
  readonly renewEveryMs: number
  /** How long a last byte waits for Redis to acknowledge its charge. */
  readonly patienceMs: number
  readonly keptChargesMax: number
  readonly now: () => number
  /** Told when a command failed; what it said is kept and said again. */
  readonly onUnavailable: (error: unknown) => void
  /** Told of each shard that came back with a new generation, and of the kept charges that it was sent again. */
  readonly onNewGeneration?: (resentCount: number) => void
}

/**
 * Keeps this replica's money safe from Redis: renews the holds of running requests, books their charges, and keeps
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
   * Books a charge and answers once Redis has acknowledged it, or `undefined` after `patienceMs` of silence.
   *
   * Then what the client is told decides what is kept and sent again: `streamed` has all its content, so the same
   * charge; `plain` gets nothing, so a correction to 0, in case the charge was booked unseen. A Redis that only stood
   * still does not book it after `untilMs`, by its own clock: this replica may be gone by then.
   */
  book(charge: Charge, answer: BookedAnswer): Promise<Settled | undefined>
  /**
   * Gives a hold back without a charge; where it was refused before a provider was called it counts in RPM no more and
   * leaves no record. Tried once now, then with each renewal until Redis takes it.
   */
  release(hold: Hold, record: RequestRecord): Promise<void>
  /** Renews a hold no longer, as if this replica had died: its lease ends, and a sweep books what was delivered. */
  abandon(hold: Hold): void
  /** Numbers for the metrics. */
  state(): { readonly open: number; readonly kept: number; readonly oldestKeptAtMs: number | undefined }
  /** Kept charges that Redis is not known to have. */
  unacknowledgedCount(): number
  /**
   * Waits until Redis has acknowledged every kept charge, however long it stays away: they are nowhere else. For
   * Postgres to have them, too, it waits no longer than `withinMs` in all; answers how many it is not known to have.
   */
  flush(withinMs: number): Promise<number>
  stop(): void
}

/** What waits for its charge: a stream, or a plain answer that Redis may book until its clock says `untilMs`. */
export type BookedAnswer =
  | { readonly kind: 'streamed' }
  | { readonly kind: 'plain'; readonly untilMs: number }

/** Pause between two tries to book one charge, and between two looks while flushing. */
const retryPauseMs = 50
/** Pause between two looks while flushing into a Redis that stays away. */
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
    // One after the other: told all at once, everybody else would wait for all that has to be said.
    for (const shard of new Set([...open.shards(), ...kept.shards()]))
      await sync.tell(shard).catch(onUnavailable)
    isTelling = false
  }

  /** A shard that has lost 100,000s of charges is told of them for longer than a lease: no lease waits for that. */
  async function renewLeases(): Promise<void> {
    for (const shard of open.shards())
      await options.admission.renew(shard, open.running(shard)).catch(onUnavailable)
  }

  const renew = () => (isTelling ? renewLeases() : tellEverything())

  const timer = setInterval(() => void renew(), options.renewEveryMs)
  return {
    patienceMs: options.patienceMs,
    isFull: () => kept.size >= options.keptChargesMax,
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

/** Takes back a charge whose client was told that the request failed. Outranks the charge, wherever that is. */
function correctionOf(charge: Charge): Charge {
  return {
    ...charge,
    chargeKind: 'corrected',
    costNano: 0n,
    record: { ...charge.record, outcome: 'unsettled', status: 503, errorCode: 'service_unavailable' },
  }
}
