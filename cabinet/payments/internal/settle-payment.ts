import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { inScope, type ScopedClient } from '#core/audit/scope'
import { violatedUniqueOf } from '#core/db/data-error'
import type { NanoRub } from '#core/ledger/money'
import type { Log } from '#core/process/log'
import type { Shop } from '../shop.ts'
import { noteDifference } from './differences.ts'
import { tellCredited, tellRefunded } from './payment-letters.ts'
import { holdPayment, stopPolls } from './payment-store.ts'
import { paymentsScope } from './payments-scope.ts'
import type { Answer, FetchedPayment, FetchedRefund, Listed, Unreadable } from './provider.ts'
import { noteCanceled, saveCard } from './saved-card.ts'
import { type Difference, type PaymentStatus, type Transition, transition } from './transition.ts'
import { noteUnreadable, unreadableOf } from './unreadable.ts'

export type SettleDeps = { readonly pool: Pool; readonly shop: Shop; readonly log: Log }

export type Fetched = { readonly payment: FetchedPayment; readonly refunds: readonly FetchedRefund[] }

export type Settled =
  | { readonly kind: 'settled'; readonly status: PaymentStatus }
  /** Put aside; nothing was posted. */
  | { readonly kind: 'different' }

/**
 * Fetches a payment from the provider and posts its changes once, even if other processes do the same.
 *
 * @param refunds its refunds, if already fetched. Otherwise they are listed if there are any.
 */
export async function refreshPayment(
  deps: SettleDeps,
  payment: { readonly id: string; readonly providerId: string; readonly hasRefunds: boolean },
  refunds: readonly FetchedRefund[] = [],
): Promise<Answer<Settled>> {
  const { provider } = deps.shop
  const fetched = await provider.get(payment.providerId)
  const unreadable = unreadableOf(fetched)
  if (unreadable !== undefined) return leaveUnread(deps, unreadable)
  if (fetched.kind !== 'answered') return fetched
  const isRefunded = fetched.value.refunded > 0n || payment.hasRefunds || refunds.length > 0
  const listed = isRefunded ? await provider.listRefunds(payment.providerId) : noRefunds
  if (listed.kind !== 'answered') return listed
  // The list may not have a new item yet.
  const { items, unreadable: unread } = listed.value
  if (unread[0] !== undefined) return leaveUnread(deps, { ...unread[0], payment: payment.providerId })
  const ids = new Set(items.map(({ id }) => id))
  const all = [...items, ...refunds.filter(({ id }) => !ids.has(id))]
  return {
    kind: 'answered',
    value: await settlePayment(deps, payment.id, { payment: fetched.value, refunds: all }),
  }
}

const noRefunds: Answer<Listed<FetchedRefund>> = { kind: 'answered', value: { items: [], unreadable: [] } }

async function leaveUnread(deps: SettleDeps, unreadable: Unreadable): Promise<Answer<Settled>> {
  await noteUnreadable(deps, unreadable)
  return { kind: 'answered', value: { kind: 'different' } }
}

/** Posts the changes of a fetched payment in one transaction, or puts aside its difference from our rows. */
export async function settlePayment(deps: SettleDeps, paymentId: string, fetched: Fetched): Promise<Settled> {
  const { pool, shop } = deps
  try {
    const settled = await inScope(pool, paymentsScope, async (client) => {
      const known = await holdPayment(client, paymentId)
      if (known === undefined) throw new Error(`payment ${paymentId} does not exist`)
      const next = transition(known, fetched, shop)
      if ('difference' in next) return next
      await book(client, known, fetched.payment, next)
      return { kind: 'settled', status: next.status } as const
    })
    if ('kind' in settled) return settled
    return await putAside(deps, paymentId, fetched.payment.id, settled.difference)
  } catch (error) {
    const repeated = repeatedIdOf(error, fetched.payment)
    if (repeated === undefined) throw error
    return putAside(deps, paymentId, fetched.payment.id, repeated)
  }
}

/** The provider has used an ID twice. If both arrive at once, only Postgres detects it. */
function repeatedIdOf(error: unknown, { id }: FetchedPayment): Difference | undefined {
  switch (violatedUniqueOf(error)) {
    case 'payments_provider_id_key':
      return { kind: 'provider_id', ours: 'none', theirs: id }
    case 'refunds_provider_id_key':
      return { kind: 'refund', ours: 'of this payment', theirs: 'of another payment' }
    default:
      return undefined
  }
}

async function putAside(
  { pool, log }: SettleDeps,
  paymentId: string,
  providerId: string,
  difference: Difference,
): Promise<Settled> {
  const isNews = await inScope(pool, paymentsScope, async (client) => {
    await stopPolls(client, paymentId)
    return noteDifference(client, providerId, paymentId, difference)
  })
  if (isNews) log.error({ paymentId, ...difference }, 'payment mismatch with provider; nothing was posted')
  return { kind: 'different' }
}

/** Posts the changes, and emails the owners about their money. */
async function book(
  client: ScopedClient,
  known: {
    readonly id: string
    readonly organizationId: string
    readonly providerId: string | null
    readonly status: PaymentStatus
  },
  payment: FetchedPayment,
  next: Transition,
): Promise<void> {
  const evidenceId = next.topUp ? await keepEvidence(client, known, payment) : null
  await client.withoutAudit(
    'the ledger and the payment evidence record it',
    `update payments
        set provider_id = $2, status = $3, cancellation_reason = $4, refunded = $5, call_body = null, next_call_at = null,
            evidence_id = coalesce($8, evidence_id), confirmation_url = coalesce($6, confirmation_url),
            succeeded_at = case when $3 in ('succeeded', 'partially_refunded', 'refunded')
              then coalesce(succeeded_at, clock_timestamp()) end,
            next_poll_at = case when $7 then coalesce(next_poll_at, clock_timestamp() + interval '1 minute') end
      where id = $1`,
    [
      known.id,
      payment.id,
      next.status,
      next.reason,
      next.refunded,
      payment.confirmationUrl ?? null,
      next.isOpen,
      evidenceId,
    ],
  )
  if (next.status === 'canceled' && known.status !== 'canceled')
    await noteCanceled(client, known.id, next.reason)
  if (next.topUp) {
    // Before locking the account. A trial grant locks the daily total first, and then an account.
    await client.withoutAudit(
      'the ledger and the payment evidence record it',
      'select grant_promised_trial($1, $2)',
      [randomUUID(), known.id],
    )
    await client.withoutAudit('the ledger and the payment evidence record it', 'select book_top_up($1)', [
      known.id,
    ])
    await client.withoutAudit(
      'the ledger and the payment evidence record it',
      'select grant_welcome($1, $2)',
      [randomUUID(), known.id],
    )
    await tellCredited(client, known.id)
    if (payment.savedCard !== undefined) await saveCard(client, known, payment.savedCard)
  }
  await bookRefunds(client, known, next)
}

/**
 * Stores the provider's evidence of a paid payment, and returns its ID. Postgres requires evidence for paid payments
 * (migration 0028), and the provider's ID before that. If the response of a call is late, the ID is stored here.
 */
async function keepEvidence(
  client: ScopedClient,
  { id, providerId }: { readonly id: string; readonly providerId: string | null },
  payment: FetchedPayment,
): Promise<bigint | null> {
  if (providerId === null)
    await client.withoutAudit(
      'the ledger and the payment evidence record it',
      `update payments set provider_id = $2, status = 'pending', call_body = null, next_call_at = null where id = $1`,
      [id, payment.id],
    )
  const { rows } = await client.withoutAudit<{ id: bigint }>(
    'the ledger and the payment evidence record it',
    `insert into payment_evidence (payment_id, provider_id, status, paid, amount, captured_at)
     values ($1, $2, $3, $4, $5, $6) returning id`,
    [id, payment.id, payment.status, payment.isPaid, payment.amount ?? null, payment.capturedAt ?? null],
  )
  return rows[0]?.id ?? null
}

async function bookRefunds(
  client: ScopedClient,
  payment: { readonly id: string; readonly organizationId: string },
  { refunds, refunded }: Transition,
): Promise<void> {
  const booked: { readonly id: string; readonly amount: NanoRub }[] = []
  for (const refund of refunds) {
    const id = refund.id ?? randomUUID()
    await client.withoutAudit(
      'the ledger and the payment evidence record it',
      `insert into refunds (id, payment_id, organization_id, provider_id, amount, status, cancellation_reason)
       values ($1, $2, $3, $4, $5, $6, $7)
       on conflict (id) do update
         set provider_id = excluded.provider_id, status = excluded.status, call_body = null, next_call_at = null,
             cancellation_reason = excluded.cancellation_reason`,
      [
        id,
        payment.id,
        payment.organizationId,
        refund.providerId,
        refund.amount,
        refund.status,
        refund.reason,
      ],
    )
    if (refund.status !== 'succeeded') continue
    await client.withoutAudit('the ledger and the payment evidence record it', 'select book_refund($1)', [id])
    booked.push({ id, amount: refund.amount })
  }
  const isReversed = refunded > 0n && (await reverseWelcome(client, payment.id))
  // Of several refunds, the last one left too little for the bonus.
  for (const refund of booked)
    await tellRefunded(client, payment.id, {
      ...refund,
      isWelcomeReversed: isReversed && refund === booked.at(-1),
    })
}

async function reverseWelcome(client: ScopedClient, paymentId: string): Promise<boolean> {
  const { rows } = await client.withoutAudit<{ reversed: boolean }>(
    'the ledger and the payment evidence record it',
    'select reverse_welcome($1) as reversed',
    [paymentId],
  )
  return rows[0]?.reversed === true
}
