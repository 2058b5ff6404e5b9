import { inScope } from '../../audit/scope.ts'
import type { NanoRub } from '../../ledger/money.ts'
import { noteDifference } from './differences.ts'
import { findOurs, noteUnknown, settleFetched } from './our-payment.ts'
import { findPaymentOf, type StoredPayment } from './payment-store.ts'
import { clockSkewMs, paymentsScope } from './payments-scope.ts'
import { type Answer, type FetchedPayment, type FetchedRefund, isUnheardOf, listTooLong } from './provider.ts'
import type { SettleDeps } from './settle-payment.ts'
import { type Difference, findDifference, isPaid, type ShopIdentity } from './transition.ts'
import { noteUnreadable, unreadableOf } from './unreadable.ts'

export type Span = { readonly from: Date; readonly to: Date }

const dayMs = 24 * 3_600_000

/**
 * Compares the payments and the refunds that the provider has made in a span with our rows: what
 * was missed is booked now, and what only one side has, or the two have otherwise, is put aside. Refunds are compared by
 * their own day, however old their payment is.
 *
 * @returns what is left to compare: of a span that has more than one list holds, both halves.
 * @throws Error when the provider cannot be asked.
 */
export async function comparePayments(deps: SettleDeps, span: Span): Promise<readonly Span[]> {
  if ((await compareMade(deps, span)) === 'too_long') return halvesOf(span)
  return (await compareRefunded(deps, span)) === 'too_long' ? halvesOf(span) : []
}

/** The last days, each for itself, the oldest first: what was compared need not be compared again after a failure. */
export function comparedDays(days: number, now: Date): readonly Span[] {
  return Array.from({ length: days }, (_, at) => {
    const from = new Date(now.getTime() - (days - at) * dayMs)
    return { from, to: new Date(from.getTime() + dayMs) }
  })
}

/** Shorter than this a span is not cut. */
const partMsMin = 1_000

function halvesOf({ from, to }: Span): readonly Span[] {
  const halfMs = Math.floor((to.getTime() - from.getTime()) / 2)
  if (halfMs < partMsMin) throw new Error('the provider lists more of a second than can be read')
  const middle = new Date(from.getTime() + halfMs)
  return [
    { from, to: middle },
    { from: middle, to },
  ]
}

async function compareMade(deps: SettleDeps, span: Span): Promise<'compared' | 'too_long'> {
  const { provider } = deps.shop
  const { from, to } = widened(span)
  const answer = await provider.list(from, to)
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
  deps.log.warn(
    { paymentId: ours.id },
    'a comparison found a payment that is not at the provider as it is here',
  )
  answerOf(await settleFetched(deps, payment), 'the refunds of a payment')
}

/** Also what was booked is compared in whole: a process that was taken over could have booked what it liked. */
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
  const answer = await provider.listRefundsMade(from, to)
  if (isTooLong(answer)) return 'too_long'
  const { items, unreadable } = answerOf(answer, 'its refunds')
  for (const one of unreadable) await noteUnreadable(deps, one)
  const known = await readRefunds(deps, items)
  for (const refund of items) {
    const ours = known.get(refund.id)
    if (ours?.status === refund.status && ours.amount === refund.amount && refund.currency === 'RUB') continue
    deps.log.warn(
      { refundId: refund.id },
      'a comparison found a refund that is not at the provider as it is here',
    )
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
  /** `null`: it is of no payment that was made here. */
  readonly paymentId: string | null
  readonly providerId: string
  readonly status: string
}

/** Which of ours a list leaves out. */
type Unlisted = Ours & {
  /** Paid, or a refund: the others may be missing without harm. */
  readonly hasMoved: boolean
}

/**
 * Ours of which money moved and which the provider does not list, nor has when it is asked: it may have made them on
 * another day than we did. The others are counted: asking for each of thousands would hold up what matters.
 */
async function noteMissing(
  deps: SettleDeps,
  kind: Difference['kind'],
  unlisted: readonly Unlisted[],
  get: (providerId: string) => Promise<Answer<unknown>>,
): Promise<void> {
  const unpaid = unlisted.filter(({ hasMoved }) => !hasMoved)
  if (unpaid.length > 0)
    deps.log.info({ count: unpaid.length }, 'the provider does not list payments that nobody has paid')
  for (const ours of unlisted.filter(({ hasMoved }) => hasMoved)) {
    const answer = await get(ours.providerId)
    if (isUnheardOf(answer)) await noteAbsent(deps, kind, ours)
    else if (unreadableOf(answer) === undefined) answerOf(answer, 'what it does not list')
  }
}

async function noteAbsent({ pool, log }: SettleDeps, kind: Difference['kind'], ours: Ours): Promise<void> {
  const { paymentId, providerId, status } = ours
  const isNews = await inScope(pool, paymentsScope, (client) =>
    noteDifference(client, providerId, paymentId, { kind, ours: status, theirs: 'none' }),
  )
  if (isNews) log.error({ kind, paymentId, providerId }, 'the provider does not have what was made there')
}

/** What we have of the payment of a refund. */
async function findOursOf({ pool }: SettleDeps, { payment }: FetchedRefund): Promise<Ours> {
  const ours = await inScope(pool, paymentsScope, (client) => findPaymentOf(client, payment, null))
  return { paymentId: ours?.id ?? null, providerId: payment, status: ours?.status ?? 'none' }
}

/** What lies at the edge by the provider's clock lies within. */
function widened({ from, to }: Span): Span {
  return { from: new Date(from.getTime() - clockSkewMs), to: new Date(to.getTime() + clockSkewMs) }
}

function isTooLong(answer: Answer<unknown>): boolean {
  return answer.kind === 'unknown' && answer.why === listTooLong
}

function answerOf<Value>(answer: Answer<Value>, what: string): Value {
  if (answer.kind === 'answered') return answer.value
  throw new Error(`the provider could not be asked for ${what}`)
}

type Listed = readonly { readonly id: string }[]

/** Where the id of the payment stands. */
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

/** By the provider's id. */
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
