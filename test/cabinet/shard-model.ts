import type { Hold } from '#core/admission/admission-reply'
import { type ChargeKind, outranks } from '#core/ledger/charge-kind'
import type { PostedBalance, PostedKeyDay } from '#core/ledger/post-batch'

/** What the stream must contain of one entry. */
export type ModelEntry = {
  readonly streamId: string
  readonly requestId: string
  readonly chargeKind: ChargeKind
  readonly costNano: bigint
  readonly pendingNano: bigint
  readonly day: number
}

type ModelHold = {
  readonly hold: Hold
  amountNano: bigint
  deliveredNano: bigint
  leaseEndsMs: number
  deadlineMs: number
  /** The amount that a sweep has charged. */
  bookedNano: bigint | null
}
type Posted = { readonly postedNano: bigint; readonly version: bigint }

const windowSeconds = 61
const dayMs = 86_400_000
const moscowMs = 10_800_000
const longestRequestMs = 3_600_000

/**
 * What a shard with one organization and one key must do, in plain memory: the rules of the scripts, written the
 * simple way. Sums are never kept, they are added up each time; so they cannot drift.
 */
export class ShardModel {
  readonly holds = new Map<string, ModelHold>()
  readonly endings = new Map<string, { chargeKind: ChargeKind; costNano: bigint }>()
  waiting: readonly ModelEntry[] = []
  #seconds = new Map<number, { requests: number; tokens: number }>()
  #lastSecond = 0
  #posted: Posted = { postedNano: 0n, version: -1n }
  #postedDays = new Map<number, Posted>()
  #isOpen = true
  readonly #limits: { readonly rpm: number; readonly tpm: number; readonly dailyBudgetNano: bigint }

  constructor(limits: { readonly rpm: number; readonly tpm: number; readonly dailyBudgetNano: bigint }) {
    this.#limits = limits
  }

  /** What waits for Postgres, of one day or of all. */
  pending(day?: number): bigint {
    return sum(
      this.waiting.filter((entry) => (day ?? entry.day) === entry.day).map((entry) => entry.pendingNano),
    )
  }

  held(day?: number): bigint {
    const holds = [...this.holds.values()].filter(({ hold }) => (day ?? hold.day) === hold.day)
    return sum(holds.map(({ amountNano }) => amountNano))
  }

  usedInWindow(atMs: number) {
    if (this.#isBackByMinutes(Math.floor(atMs / 1000))) return { requests: 0, tokens: 0 }
    const inside = [...this.#seconds].filter(([second]) => second > Math.floor(atMs / 1000) - windowSeconds)
    return {
      requests: inside.reduce((total, [, use]) => total + use.requests, 0),
      tokens: inside.reduce((total, [, use]) => total + use.tokens, 0),
    }
  }

  /** What `admit` must answer at this instant. */
  decide(atMs: number, request: { requestId: string; amount: bigint; tokens: number }): string {
    if (!this.#isOpen) return 'unavailable'
    if (this.endings.has(request.requestId)) return 'already_ended'
    if (this.holds.has(request.requestId)) return 'admitted'
    const unspent = this.#posted.postedNano - this.pending()
    if (unspent <= 0n) return 'insufficient_balance'
    if (request.tokens > this.#limits.tpm) return 'request_too_large_for_tpm'
    const day = Math.floor((atMs + moscowMs) / dayMs)
    const spent = (this.#postedDays.get(day)?.postedNano ?? 0n) + this.pending(day)
    const budget = this.#limits.dailyBudgetNano - spent
    if (budget <= 0n) return 'daily_budget_exceeded'
    if (request.amount > unspent) return 'request_exceeds_balance'
    if (request.amount > budget) return 'request_exceeds_budget'
    const used = this.usedInWindow(atMs)
    if (used.requests + 1 > this.#limits.rpm) return 'rpm'
    if (used.tokens + request.tokens > this.#limits.tpm) return 'tpm'
    if (!covers(unspent - this.held(), request.amount)) return 'balance_reserved'
    return covers(budget - this.held(day), request.amount) ? 'admitted' : 'budget_reserved'
  }

  admitted(hold: Hold, leaseEndsMs: number): void {
    this.holds.set(hold.requestId, newHold(hold, leaseEndsMs))
    if (this.#isBackByMinutes(hold.second)) this.#seconds.clear()
    this.#lastSecond = hold.second
    const use = this.#seconds.get(hold.second) ?? { requests: 0, tokens: 0 }
    this.#seconds.set(hold.second, { requests: use.requests + 1, tokens: use.tokens + hold.tokens })
  }

  /** Answers the cost that `settle` must answer. */
  settled(
    hold: Hold,
    chargeKind: ChargeKind,
    costNano: bigint,
    tokens: number | null,
    streamId: string,
  ): bigint {
    const ending = this.endings.get(hold.requestId)
    if (ending !== undefined && !outranks(chargeKind, ending.chargeKind)) return ending.costNano
    const bookedNano = ending?.costNano ?? this.holds.get(hold.requestId)?.bookedNano ?? 0n
    this.#release(hold.requestId, tokens)
    const pendingNano = costNano - bookedNano
    this.#append({ streamId, requestId: hold.requestId, chargeKind, costNano, pendingNano, day: hold.day })
    return costNano
  }

  voided(requestId: string, streamId: string | null): void {
    if (this.endings.has(requestId)) return
    const bookedNano = this.holds.get(requestId)?.bookedNano ?? null
    const hold = this.#release(requestId, null)
    if (bookedNano !== null) this.endings.set(requestId, { chargeKind: 'released', costNano: bookedNano })
    else if (hold === undefined || streamId === null)
      this.endings.set(requestId, { chargeKind: 'released', costNano: 0n })
    else
      this.#append({
        streamId,
        requestId,
        chargeKind: 'released',
        costNano: 0n,
        pendingNano: 0n,
        day: hold.day,
      })
  }

  renewed(hold: Hold, costNano: bigint, leaseEndsMs: number): void {
    if (this.endings.has(hold.requestId)) return
    const known = this.holds.get(hold.requestId) ?? newHold(hold, leaseEndsMs)
    this.holds.set(hold.requestId, known)
    if (costNano > known.deliveredNano) known.deliveredNano = costNano
    known.leaseEndsMs = leaseEndsMs
  }

  /** Ids of requests that a sweep must end at this instant. */
  due(atMs: number): readonly string[] {
    const due = [...this.holds.values()].filter(({ leaseEndsMs }) => leaseEndsMs <= atMs)
    return due.map(({ hold }) => hold.requestId)
  }

  /** No lease ends later. */
  endLeasesBy(atMs: number): void {
    for (const hold of this.holds.values()) hold.leaseEndsMs = Math.min(hold.leaseEndsMs, atMs)
  }

  /** A sweep of a request that is due: it charges the delivered part once, and gives the rest back at its deadline. */
  swept(requestId: string, atMs: number, streamId: string | undefined): void {
    const known = this.holds.get(requestId)
    if (known === undefined) throw new Error('swept what was not held')
    if ((streamId === undefined) !== (known.bookedNano !== null))
      throw new Error('booked twice, or not at all')
    known.deadlineMs = Math.min(known.deadlineMs, atMs + longestRequestMs)
    if (streamId !== undefined) {
      const costNano = known.deliveredNano
      known.bookedNano = costNano
      const { day } = known.hold
      this.waiting = [
        ...this.waiting,
        { streamId, requestId, chargeKind: 'released', costNano, pendingNano: costNano, day },
      ]
      if (known.deadlineMs > atMs)
        known.amountNano = costNano < known.amountNano ? known.amountNano - costNano : 0n
    }
    known.leaseEndsMs = known.deadlineMs
    if (known.deadlineMs > atMs) return
    this.#release(requestId, undefined)
    this.endings.set(requestId, { chargeKind: 'released', costNano: known.bookedNano ?? 0n })
  }

  applied(streamIds: readonly string[]): void {
    this.waiting = this.waiting.filter(({ streamId }) => !streamIds.includes(streamId))
  }

  posted(balance: PostedBalance): void {
    if (balance.version > this.#posted.version) this.#posted = balance
  }

  postedDay(row: PostedKeyDay): void {
    if (row.version > (this.#postedDays.get(row.day)?.version ?? -1n)) this.#postedDays.set(row.day, row)
  }

  /** Redis forgot how the request ended. */
  forgot(requestId: string): void {
    this.endings.delete(requestId)
  }

  /** Redis lost everything. */
  lost(): void {
    for (const memory of [this.holds, this.endings, this.#seconds, this.#postedDays]) memory.clear()
    this.waiting = []
    this.#posted = { postedNano: 0n, version: -1n }
    this.#lastSecond = 0
    this.#isOpen = false
  }

  opened(): void {
    this.#isOpen = true
  }

  /** Then the window begins again. */
  #isBackByMinutes(second: number): boolean {
    return this.#lastSecond - second >= windowSeconds
  }

  /** `used`: tokens; `null`: nothing at all, not even a request; `undefined`: not known. */
  #release(requestId: string, used: number | null | undefined): Hold | undefined {
    const hold = this.holds.get(requestId)?.hold
    if (hold === undefined) return undefined
    this.holds.delete(requestId)
    const bucket = this.#seconds.get(hold.second)
    if (bucket === undefined || used === undefined || bucket.requests === 0) return hold
    bucket.tokens = Math.max(0, bucket.tokens + (used ?? 0) - hold.tokens)
    if (used === null) bucket.requests -= 1
    return hold
  }

  #append(entry: ModelEntry): void {
    this.waiting = [...this.waiting, entry]
    this.endings.set(entry.requestId, entry)
  }
}

/** What Postgres must do with the entries of one organization and one key: post by rank, each request once. */
export class LedgerModel {
  readonly booked = new Map<string, { chargeKind: ChargeKind; costNano: bigint }>()
  balance: PostedBalance
  readonly #keyId: string
  readonly #days = new Map<number, Posted>()

  constructor(organizationId: string, keyId: string) {
    this.#keyId = keyId
    // Above every version that the fixture projects by itself.
    this.balance = { organizationId, postedNano: 0n, version: 1_000n }
  }

  credit(amountNano: bigint): void {
    const { organizationId, postedNano, version } = this.balance
    this.balance = { organizationId, postedNano: postedNano + amountNano, version: version + 1n }
  }

  day(day: number): PostedKeyDay {
    return { keyId: this.#keyId, day, ...(this.#days.get(day) ?? { postedNano: 0n, version: 0n }) }
  }

  /** Like `post_batch`. Returns the balance and the daily key spend of the batch, new or not. */
  book(entries: readonly ModelEntry[]) {
    for (const { requestId, chargeKind, costNano, day } of entries) {
      const before = this.booked.get(requestId)
      if (before !== undefined && !outranks(chargeKind, before.chargeKind)) continue
      this.booked.set(requestId, { chargeKind, costNano })
      const difference = costNano - (before?.costNano ?? 0n)
      if (difference === 0n) continue
      this.credit(-difference)
      const { postedNano, version } = this.day(day)
      this.#days.set(day, { postedNano: postedNano + difference, version: version + 1n })
    }
    const days = [...new Set(entries.map(({ day }) => day))]
    return { balances: [this.balance], keyDays: days.map((day) => this.day(day)) }
  }
}

function newHold(hold: Hold, leaseEndsMs: number): ModelHold {
  const { holdNano: amountNano, deadlineMs } = hold
  return { hold, amountNano, deliveredNano: 0n, leaseEndsMs, deadlineMs, bookedNano: null }
}

function covers(available: bigint, amount: bigint): boolean {
  return amount === 0n || amount <= available
}

function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n)
}
