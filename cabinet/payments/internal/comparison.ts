import { inScope } from '#core/audit/scope'
import type { NanoRub } from '#core/ledger/money'
import { noteDifference } from './differences.ts'
import { findOurs, noteUnknown, settleFetched } from './our-payment.ts'
import { findPaymentOf, type StoredPayment } from './payment-store.ts'
import { clockSkewMs, paymentsScope } from './payments-scope.ts'
import {
  type Answer,
  type FetchedPayment,
  type FetchedRefund,
  isUnheardOf,
  listItemsMax,
  listTooLong,
} from './provider.ts'
import type { SettleDeps } from './settle-payment.ts'
import { type Difference, findDifference, isPaid, type ShopIdentity } from './transition.ts'
import { noteUnreadable, unreadableOf } from './unreadable.ts'

export type Span = { readonly from: Date; readonly to: Date }

const dayMs = 24 * 3_600_000

/**
 * Compares the provider's payments and refunds of a time span with our rows. Missed ones are posted now. Those that
 * only one side has, or that differ, are put aside. Refunds are compared by their own day, regardless of their
 * payment's age.
 *
 * @returns the spans still to compare: both halves if a span has more items than one list holds.
 * @throws Error when the provider is unavailable.
 */
export async function comparePayments(deps: SettleDeps, span: Span): Promise<readonly Span[]> {
  if ((await compareMade(deps, span)) === 'too_long') return halvesOf(span)
  return (await compareRefunded(deps, span)) === 'too_long' ? halvesOf(span) : []
}

/** The last days, oldest first. Each is a separate span, so that compared days are not repeated after a failure. */
export function comparedDays(days: number, now: Date): readonly Span[] {
  return Array.from({ length: days }, (_, at) => {
    const from = new Date(now.getTime() - (days - at) * dayMs)
    return { from, to: new Date(from.getTime() + dayMs) }
  })
}

/**
 * Shorter spans are not cut. With the clock skew added on both sides, their halves would list nearly the same items.
 */
const partMsMin = clockSkewMs
/** Limit for a span that cannot be cut: 80 payments a second, about 50 MB. */
const uncutItemsMax = 100_000

function isUncut({ from, to }: Span): boolean {
  return to.getTime() - from.getTime() < 2 * partMsMin
}

function itemsMaxOf(span: Span): number {
  return isUncut(span) ? uncutItemsMax : listItemsMax
}

function halvesOf(span: Span): readonly Span[] {
  if (isUncut(span)) throw new Error('the provider lists more items in a few minutes than can be read')
  const { from, to } = span
  const middle = new Date((from.getTime() + to.getTime()) / 2)
  return [
    { from, to: middle },
    { from: middle, to },
  ]
}

async function compareMade(deps: SettleDeps, span: Span): Promise<'compared' | 'too_long'> {
  const { provider } = deps.shop
  const { from, to } = widened(span)
  const answer = await provider.list(from, to, itemsMaxOf(span))
  if (isTooLong(answer)) return 'too_long'
  const { items, unreadable } = answerOf(answer, 'its payments')
  for (const payment of items) await compareOne(deps, payment)
  for (const one of unreadable) await noteUnreadable(deps, one)
  const unlisted = await readUnlisted(deps, 'payments', span, [...items, ...unreadable])
  await noteMissing(deps, 'missing', unlisted, provider.get)
  return 'compared'
}

async function compareOne(deps: SettleDeps, payment: FetchedPayment): Promise<void> {
  const ours = await findOurs(deps.pool, payment)
  if (ours === undefined) {
    if (payment.status === 'succeeded') await noteUnknown(deps, payment)
    return
  }
  if (isSame(ours, payment, deps.shop)) return
  deps.log.warn({ paymentId: ours.id }, 'payment mismatch with provider, found by comparison')
  answerOf(await settleFetched(deps, payment), 'the refunds of a payment')
}

/** Posted values are compared in full, too. A compromised process could have posted anything. */
function isSame(ours: StoredPayment, theirs: FetchedPayment, shop: ShopIdentity): boolean {
  return (
    ours.providerId === theirs.id &&
    findDifference(ours, theirs, shop) === undefined &&
    (isPaid(ours.status) ? 'succeeded' : ours.status) === theirs.status &&
    ours.refunded === theirs.refunded
  )
}

async function compareRefunded(deps: SettleDeps, span: Span): Promise<'compared' | 'too_long'> {
  const { provider } = deps.shop
  const { from, to } = widened(span)
  const answer = await provider.listRefundsMade(from, to, itemsMaxOf(span))
  if (isTooLong(answer)) return 'too_long'
  const { items, unreadable } = answerOf(answer, 'its refunds')
  for (const one of unreadable) await noteUnreadable(deps, one)
  const known = await readRefunds(deps, items)
  for (const refund of items) {
    const ours = known.get(refund.id)
    if (ours?.status === refund.status && ours.amount === refund.amount && refund.currency === 'RUB') continue
    deps.log.warn({ refundId: refund.id }, 'refund mismatch with provider, found by comparison')
    await settleRefund(deps, refund)
  }
  await noteMissing(
    deps,
    'missing_refund',
    await readUnlisted(deps, 'refunds', span, [...items, ...unreadable]),
    provider.getRefund,
  )
  return 'compared'
}

async function settleRefund(deps: SettleDeps, refund: FetchedRefund): Promise<void> {
  const payment = await deps.shop.provider.get(refund.payment)
  if (isUnheardOf(payment)) return noteAbsent(deps, 'missing', await findOursOf(deps, refund))
  const unreadable = unreadableOf(payment)
  if (unreadable !== undefined) return noteUnreadable(deps, unreadable)
  const settled = await settleFetched(deps, answerOf(payment, 'a payment'), [refund])
  answerOf(settled, 'the refunds of a payment')
}

type Ours = {
  /** `null`: its payment was not made here. */
  readonly paymentId: string | null
  readonly providerId: string
  readonly status: string
}

/** One of our rows that a list leaves out. */
type Unlisted = Ours & {
  /** Paid, or a refund. Others may be missing without harm. */
  readonly hasMoved: boolean
}

/**
 * Notes our rows of moved money that the provider does not list and does not return when asked by ID. The provider may
 * have dated them on another day. Unpaid rows are only counted, because asking for thousands of them would delay the
 * comparison.
 */
async function noteMissing(
  deps: SettleDeps,
  kind: Difference['kind'],
  unlisted: readonly Unlisted[],
  get: (providerId: string) => Promise<Answer<unknown>>,
): Promise<void> {
  const unpaid = unlisted.filter(({ hasMoved }) => !hasMoved)
  if (unpaid.length > 0) deps.log.info({ count: unpaid.length }, 'provider does not list unpaid payments')
  for (const ours of unlisted.filter(({ hasMoved }) => hasMoved)) {
    const answer = await get(ours.providerId)
    if (isUnheardOf(answer)) await noteAbsent(deps, kind, ours)
    else if (unreadableOf(answer) === undefined) answerOf(answer, 'an item that it does not list')
  }
}

async function noteAbsent({ pool, log }: SettleDeps, kind: Difference['kind'], ours: Ours): Promise<void> {
  const { paymentId, providerId, status } = ours
  const isNews = await inScope(pool, paymentsScope, (client) =>
    noteDifference(client, providerId, paymentId, { kind, ours: status, theirs: 'none' }),
  )
  if (isNews)
    log.error({ kind, paymentId, providerId }, 'provider does not have a payment or refund that it created')
}

/** Our row of a refund's payment. */
async function findOursOf({ pool }: SettleDeps, { payment }: FetchedRefund): Promise<Ours> {
  const ours = await inScope(pool, paymentsScope, (client) => findPaymentOf(client, payment, null))
  return { paymentId: ours?.id ?? null, providerId: payment, status: ours?.status ?? 'none' }
}

/** The span plus the clock skew, for items at its edges. */
function widened({ from, to }: Span): Span {
  return { from: new Date(from.getTime() - clockSkewMs), to: new Date(to.getTime() + clockSkewMs) }
}

function isTooLong(answer: Answer<unknown>): boolean {
  return answer.kind === 'unknown' && answer.why === listTooLong
}

function answerOf<Value>(answer: Answer<Value>, what: string): Value {
  if (answer.kind === 'answered') return answer.value
  throw new Error(`the provider did not return ${what}`)
}

type Listed = readonly { readonly id: string }[]

/** The column with the ID of the payment. */
const paymentColumn = { payments: 'id', refunds: 'payment_id' } as const
const moved = { payments: 'succeeded_at is not null', refunds: 'true' } as const

async function readUnlisted(
  { pool }: SettleDeps,
  table: 'payments' | 'refunds',
  { from, to }: Span,
  listed: Listed,
): Promise<readonly Unlisted[]> {
  const { rows } = await inScope(pool, paymentsScope, (client) =>
    client.query<Unlisted>(
      `select ${paymentColumn[table]} as "paymentId", provider_id as "providerId", status,
              ${moved[table]} as "hasMoved" from ${table}
        where created_at >= $1 and created_at < $2 and provider_id is not null and provider_id <> all ($3)`,
      [from, to, listed.map(({ id }) => id)],
    ),
  )
  return rows
}

type KnownRefund = { readonly providerId: string; readonly status: string; readonly amount: NanoRub }

/** By the provider's ID. */
async function readRefunds(
  { pool }: SettleDeps,
  listed: readonly FetchedRefund[],
): Promise<ReadonlyMap<string, KnownRefund>> {
  const { rows } = await inScope(pool, paymentsScope, (client) =>
    client.query<KnownRefund>(
      'select provider_id as "providerId", status, amount from refunds where provider_id = any ($1)',
      [listed.map(({ id }) => id)],
    ),
  )
  return new Map(rows.map((refund) => [refund.providerId, refund]))
}
