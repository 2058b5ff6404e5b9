import type { ChargeRank } from '#cabinet/admission/admission'
import type { Hold } from '#cabinet/admission/admission-reply'
import type { PostedBalance, PostedKeyDay } from '#cabinet/ledger/post-batch'

/** What the stream must contain of one entry. */
export type ModelEntry = {
  readonly streamId: string
  readonly requestId: string
  readonly rank: ChargeRank
  readonly costNano: bigint
  readonly pendingNano: bigint
  readonly day: number
}

type ModelHold = { readonly hold: Hold; amountNano: bigint; deliveredNano: bigint; leaseEndsMs: number }
type Posted = { readonly postedNano: bigint; readonly version: bigint }

const windowSeconds = 61
const dayMs = 86_400_000
const moscowMs = 10_800_000

/**
 * What a shard with one organization and one key must do, in plain memory: the rules of `architecture.md`, written
 * the simple way. Sums are never kept, they are added up each time; so they cannot drift.
 */
export class ShardModel {
  readonly holds = new Map<string, ModelHold>()
  readonly endings = new Map<string, { rank: number; costNano: bigint }>()
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
  decide(atMs: number, request: { requestId: string; tokens: number }): string {
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
    const used = this.usedInWindow(atMs)
    if (used.requests + 1 > this.#limits.rpm) return 'rpm'
    if (used.tokens + request.tokens > this.#limits.tpm) return 'tpm'
    if (unspent - this.held() <= 0n) return 'balance_reserved'
    return budget - this.held(day) <= 0n ? 'budget_reserved' : 'admitted'
  }

  admitted(hold: Hold, leaseEndsMs: number): void {
    this.holds.set(hold.requestId, { hold, amountNano: hold.holdNano, deliveredNano: 0n, leaseEndsMs })
    if (this.#isBackByMinutes(hold.second)) this.#seconds.clear()
    this.#lastSecond = hold.second
    const use = this.#seconds.get(hold.second) ?? { requests: 0, tokens: 0 }
    this.#seconds.set(hold.second, { requests: use.requests + 1, tokens: use.tokens + hold.tokens })
  }

  /** Answers the cost that `settle` must answer. */
  settled(hold: Hold, rank: ChargeRank, costNano: bigint, tokens: number | null, streamId: string): bigint {
    const ending = this.endings.get(hold.requestId)
    if (ending !== undefined && ending.rank >= rank) return ending.costNano
    this.#release(hold.requestId, tokens)
    const pendingNano = costNano - (ending?.costNano ?? 0n)
    this.#append({ streamId, requestId: hold.requestId, rank, costNano, pendingNano, day: hold.day })
    return costNano
  }

  voided(requestId: string, streamId: string | null): void {
    if (this.endings.has(requestId)) return
    const hold = this.#release(requestId, null)
    if (hold === undefined || streamId === null) this.endings.set(requestId, { rank: 0, costNano: 0n })
    else this.#append({ streamId, requestId, rank: 0, costNano: 0n, pendingNano: 0n, day: hold.day })
  }

  renewed(hold: Hold, costNano: bigint, leaseEndsMs: number): void {
    if (this.endings.has(hold.requestId)) return
    const lost = { hold, amountNano: hold.holdNano, deliveredNano: 0n, leaseEndsMs }
    const known = this.holds.get(hold.requestId) ?? lost
    this.holds.set(hold.requestId, known)
    if (costNano > known.deliveredNano) known.deliveredNano = costNano
    if (costNano * 10n > known.amountNano * 8n) known.amountNano = (costNano * 3n) / 2n
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

  swept(requestId: string, streamId: string): void {
    const costNano = this.holds.get(requestId)?.deliveredNano ?? 0n
    const hold = this.#release(requestId, undefined)
    if (hold === undefined) throw new Error('swept what was not held')
    this.#append({ streamId, requestId, rank: 0, costNano, pendingNano: costNano, day: hold.day })
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

  /** Then the window begins anew. */
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

/** What Postgres must do with the entries of one organization and one key: book by rank, each request once. */
export class LedgerModel {
  readonly booked = new Map<string, { rank: number; costNano: bigint }>()
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

  /** As `post_batch`. Answers the balance and the key-days of the batch, new or not. */
  book(entries: readonly ModelEntry[]) {
    for (const { requestId, rank, costNano, day } of entries) {
      const before = this.booked.get(requestId)
      if (before !== undefined && before.rank >= rank) continue
      this.booked.set(requestId, { rank, costNano })
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

function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n)
}
