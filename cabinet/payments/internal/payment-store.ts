import type { ScopedClient } from '#core/audit/scope'
import { exactTimeSql } from '#core/db/exact-time'
import type { Queryable } from '#core/db/pool'
import { type NanoRub, nanoRub } from '#core/ledger/money'
import type { KnownPayment, KnownRefund, PaymentStatus } from './transition.ts'

export type StoredPayment = {
  readonly id: string
  readonly organizationId: string
  readonly providerId: string | null
  readonly amount: NanoRub
  readonly refunded: NanoRub
  readonly status: PaymentStatus
  readonly reason: string | null
  readonly confirmationUrl: string | null
  readonly createdAt: Date
  readonly succeededAt: Date | null
  /** Charged to the saved card without a user. */
  readonly isAutomatic: boolean
  readonly hasRefunds: boolean
  /** `created_at` with microseconds, for cursors. */
  readonly position: string
}

const columns = `p.id, p.organization_id as "organizationId", p.provider_id as "providerId", p.amount, p.refunded, p.status,
  p.cancellation_reason as reason, p.confirmation_url as "confirmationUrl", p.created_at as "createdAt",
  p.succeeded_at as "succeededAt", p.automatic_day is not null as "isAutomatic", exists (select from refunds r where r.payment_id = p.id) as "hasRefunds",
  ${exactTimeSql('p.created_at')} as position`

export type NewPayment = {
  readonly id: string
  readonly organizationId: string
  readonly userId: string
  readonly amount: NanoRub
  readonly addressHash: Buffer
  readonly callBody: string
  /** The consent to save its card; `null`: the card is not saved. */
  readonly cardConsentId: bigint | null
}

/** Records a requested payment. The caller makes its call. After 5 seconds, a worker may make it. */
export async function insertPayment(client: ScopedClient, payment: NewPayment): Promise<void> {
  const { id, organizationId, userId, amount, addressHash, callBody, cardConsentId } = payment
  await client.change(
    `insert into payments (id, organization_id, user_id, amount, address_hash, call_body, card_consent_id)
     values ($1, $2, $3, $4, $5, $6, $7)`,
    [id, organizationId, userId, amount, addressHash, callBody, cardConsentId],
    () => ({
      action: 'payment.create',
      subject: { kind: 'Payment', id },
      organizationId,
      before: null,
      after: { amountNano: String(amount), ...(cardConsentId === null ? {} : { savesCard: true }) },
    }),
  )
}

/** Whether an organization has reached its limit of unpaid payments. The provider lets them expire within an hour. */
export async function hasOpenPayments(
  client: Queryable,
  organizationId: string,
  count: number,
): Promise<boolean> {
  const { rowCount } = await client.query(
    `select 1 from payments
      where organization_id = $1 and created_at > clock_timestamp() - interval '1 day'
        and status in ('pending', 'waiting_for_capture')
      limit $2`,
    [organizationId, count],
  )
  return rowCount === count
}

/** One payment of an organization; `null`: of any organization. */
export async function findPayment(
  client: Queryable,
  organizationId: string | null,
  id: string,
): Promise<StoredPayment | undefined> {
  const { rows } = await client.query<StoredPayment>(
    `select ${columns} from payments p where p.id = $1 and ($2::uuid is null or p.organization_id = $2)`,
    [id, organizationId],
  )
  return rows[0]
}

/** Our row of a fetched payment, by the provider's ID, or by our ID if we never received the provider's. */
export async function findPaymentOf(
  client: Queryable,
  providerId: string,
  paymentId: string | null,
): Promise<StoredPayment | undefined> {
  const { rows } = await client.query<StoredPayment>(
    `select ${columns} from payments p where p.provider_id = $1 or p.id = $2
      order by p.provider_id = $1 desc nulls last limit 1`,
    [providerId, paymentId],
  )
  return rows[0]
}

/** Newest first; `null`: of every organization. */
export async function readPayments(
  client: Queryable,
  organizationId: string | null,
  page: { readonly after: readonly [string, string] | undefined; readonly limit: number },
): Promise<readonly StoredPayment[]> {
  const [at = null, id = null] = page.after ?? []
  const { rows } = await client.query<StoredPayment>(
    `select ${columns} from payments p
      where ($1::uuid is null or p.organization_id = $1)
        and ($2::timestamptz is null or (p.created_at, p.id) < ($2, $3::uuid))
      order by p.created_at desc, p.id desc limit $4`,
    [organizationId, at, id, page.limit],
  )
  return rows
}

/** Locks a payment and reads its refunds. They do not change until the transaction ends. */
export async function holdPayment(
  client: Queryable,
  id: string,
): Promise<(KnownPayment & { readonly organizationId: string }) | undefined> {
  const payments = await client.query<Omit<KnownPayment, 'refunds'> & { readonly organizationId: string }>(
    `select id, organization_id as "organizationId", provider_id as "providerId", amount, status,
            cancellation_reason as reason
       from payments where id = $1 for update`,
    [id],
  )
  const [payment] = payments.rows
  if (payment === undefined) return undefined
  const { rows: refunds } = await client.query<KnownRefund>(
    `select id, provider_id as "providerId", amount, status from refunds where payment_id = $1 order by id`,
    [id],
  )
  return { ...payment, refunds }
}

/**
 * Stops polling, because a difference does not resolve itself. A call of unknown outcome continues until it has a
 * response.
 */
export async function stopPolls(client: ScopedClient, paymentId: string): Promise<void> {
  await client.withoutAudit(
    'when to ask the provider again',
    'update payments set next_poll_at = null where id = $1',
    [paymentId],
  )
}

export type NewRefund = {
  readonly id: string
  readonly payment: KnownPayment & { readonly organizationId: string }
  readonly amount: NanoRub
  readonly madeBy: string
  readonly reason: string
  readonly callBody: string
}

/** Records an administrator's refund. The caller makes its call. After 5 seconds, a worker may make it. */
export async function insertRefund(client: ScopedClient, refund: NewRefund): Promise<void> {
  const { id, payment, amount, madeBy, reason, callBody } = refund
  await client.change(
    `insert into refunds (id, payment_id, organization_id, amount, made_by, reason, call_body, next_call_at)
     values ($1, $2, $3, $4, $5, $6, $7, clock_timestamp() + interval '5 seconds')`,
    [id, payment.id, payment.organizationId, amount, madeBy, reason, callBody],
    () => ({
      action: 'payment.refund',
      subject: { kind: 'Payment', id: payment.id },
      organizationId: payment.organizationId,
      before: null,
      after: { refundId: id, amountNano: String(amount) },
    }),
  )
}

/** The backlog, and differences for administrators. */
export async function readPaymentBacklog(client: Queryable): Promise<{
  readonly waiting: number
  /** Age of the oldest waiting notification; 0 if none waits. */
  readonly waitingSeconds: number
  readonly unknownCalls: number
  readonly differences: number
}> {
  const { rows } = await client.query<{
    waiting: number
    waitingSeconds: number
    unknownCalls: number
    differences: number
  }>(
    `select (select count(*) from webhook_inbox where processed_at is null)::int as waiting,
            (select coalesce(extract(epoch from clock_timestamp() - min(received_at)), 0)
               from webhook_inbox where processed_at is null)::float8 as "waitingSeconds",
            ((select count(*) from payments where next_call_at is not null)
              + (select count(*) from refunds where next_call_at is not null))::int as "unknownCalls",
            (select count(*) from payment_differences where resolved_at is null)::int as differences`,
  )
  const [backlog] = rows
  if (backlog === undefined) throw new Error('Postgres returned no backlog of payments')
  return backlog
}

/** Number of payments of the last 24 hours per status. */
export async function countPaymentsOfDay(client: Queryable): Promise<ReadonlyMap<string, number>> {
  const { rows } = await client.query<{ status: string; count: number }>(
    `select status, count(*)::int from payments where created_at > clock_timestamp() - interval '24 hours' group by status`,
  )
  return new Map(rows.map(({ status, count }) => [status, count]))
}

/** The amount of a payment that can still be refunded: neither refunded nor being refunded. Pure. */
export function leftOf({ amount, refunds }: KnownPayment): NanoRub {
  const gone = refunds.filter(({ status }) => status !== 'canceled')
  return nanoRub(gone.reduce<bigint>((left, refund) => left - refund.amount, amount))
}
