import type { Pool } from 'pg'
import { inScope, type ScopedClient } from '#core/audit/scope'
import { findPayment } from './payment-store.ts'
import { clockSkewMs, paymentsScope } from './payments-scope.ts'
import {
  type Answer,
  type FetchedPayment,
  type FetchedRefund,
  type Listed,
  listItemsMax,
} from './provider.ts'
import { noteCanceled } from './saved-card.ts'
import { refreshPayment, type SettleDeps, settlePayment } from './settle-payment.ts'
import { noteUnreadable, unreadableOf } from './unreadable.ts'

/** The table of the row that a call creates. */
type Table = 'payments' | 'refunds'

/** A due call, leased to this caller. */
type DueCall = {
  readonly id: string
  readonly paymentId: string
  readonly callBody: string
  readonly createdAt: Date
  /** It was made before, and its outcome is unknown. */
  readonly isRepeated: boolean
  /** The provider forgets an idempotency key after 24 hours. After that, the call would create another payment. */
  readonly isTooOld: boolean
  /** It would charge a saved card that was removed, replaced or stopped since: it is not made, only searched for. */
  readonly isEnded: boolean
}

/** Takes a due call for a minute, longer than a call lasts. If the process dies, another one takes it. */
const take = `calls = calls + 1, next_call_at = clock_timestamp() + interval '1 minute'`
/** Slightly less than 24 hours, counted from the first call. */
const tooOld = `created_at < clock_timestamp() - interval '23 hours 55 minutes'`
/** A new call belongs to the process that recorded it, before it is open to all. */
const isDue = `($1::uuid is null and next_call_at <= clock_timestamp())
  or (id = $1 and next_call_at is not null and (calls = 0 or next_call_at <= clock_timestamp()))`
const returned = `id, call_body as "callBody", created_at as "createdAt", calls > 1 as "isRepeated", ${tooOld} as "isTooOld"`
const isEnded = {
  payments: `automatic_day is not null and not exists (
    select from saved_cards c where c.organization_id = payments.organization_id
       and c.payment_id = payments.card_payment_id and c.amount_nano is not null and c.stopped_at is null)`,
  refunds: 'false',
} as const

/** Makes the call of one payment, or of any due payment. Returns whether a call was due. */
export async function callPayment(deps: SettleDeps, paymentId: string | null): Promise<boolean> {
  const due = await takeDue(deps.pool, 'payments', paymentId)
  if (due === undefined) return false
  const { provider } = deps.shop
  const answer = await makeCall(due, {
    post: () => provider.create(due.id, due.callBody),
    list: () => provider.list(new Date(due.createdAt.getTime() - clockSkewMs), new Date(), listItemsMax),
  })
  if (answer.kind !== 'answered') await noteCall(deps, 'payments', due, answer)
  else await settleMade(deps, due, answer.value)
  return true
}

/** A repeated call returns what has become of its payment since then, including refunds. */
async function settleMade(deps: SettleDeps, due: DueCall, payment: FetchedPayment): Promise<void> {
  const made = { id: due.id, providerId: payment.id, hasRefunds: true }
  const settled =
    payment.refunded === 0n
      ? await settlePayment(deps, due.id, { payment, refunds: [] })
      : await refreshPayment(deps, made).then((answer) =>
          answer.kind === 'answered' ? answer.value : answer,
        )
  if (settled.kind === 'different') await giveUp(deps.pool, due)
}

/** Makes the call of one refund, or of any due refund. Returns whether a call was due. */
export async function callRefund(deps: SettleDeps, refundId: string | null): Promise<boolean> {
  const due = await takeDue(deps.pool, 'refunds', refundId)
  if (due === undefined) return false
  const payment = await inScope(deps.pool, paymentsScope, (client) =>
    findPayment(client, null, due.paymentId),
  )
  if (payment?.providerId == null)
    throw new Error(`refund ${due.id} belongs to a payment that the provider never created`)
  const { providerId, hasRefunds, id } = payment
  const { provider } = deps.shop
  const answer = await makeCall(due, {
    post: () => provider.refund(due.id, due.callBody),
    list: () => provider.listRefunds(providerId),
  })
  const unreadable = unreadableOf(answer)
  if (unreadable !== undefined) await noteUnreadable(deps, unreadable)
  if (answer.kind !== 'answered') await noteCall(deps, 'refunds', due, answer)
  else {
    const refreshed = await refreshPayment(deps, { id, providerId, hasRefunds }, [answer.value])
    if (refreshed.kind === 'answered' && refreshed.value.kind === 'different') await endCall(deps.pool, due)
  }
  return true
}

/** The column with the ID of the call's payment. */
const paymentColumn = { payments: 'id', refunds: 'payment_id' } as const

async function takeDue(pool: Pool, table: Table, id: string | null): Promise<DueCall | undefined> {
  const { rows } = await inScope(pool, paymentsScope, (client) =>
    client.withoutAudit<DueCall>(
      'a call to the provider in progress; its outcome is in the ledger',
      `update ${table} set ${take}
        where id = (select id from ${table} where ${isDue} order by next_call_at limit 1 for update skip locked)
       returning ${returned}, ${isEnded[table]} as "isEnded", ${paymentColumn[table]} as "paymentId"`,
      [id],
    ),
  )
  return rows[0]
}

type Call<Made> = {
  readonly post: () => Promise<Answer<Made>>
  /** Lists what this and other calls have created. */
  readonly list: () => Promise<Answer<Listed<Made>>>
}

/**
 * A rejection does not reveal the outcome of an earlier call whose response was lost. So search for what that call
 * created.
 */
async function makeCall<Made extends FetchedPayment | FetchedRefund>(
  due: DueCall,
  { post, list }: Call<Made>,
): Promise<Answer<Made>> {
  if (due.isEnded) return findMade(await list(), due, 'canceled_by_merchant')
  if (due.isTooOld) return findMade(await list(), due, 'never_made')
  const answer = await post()
  return answer.kind === 'refused' && due.isRepeated ? findMade(await list(), due, answer.code) : answer
}

const searchAgainMs = 3_600_000

/** Finds what a call has created. If it created nothing, it never will. */
function findMade<Made extends FetchedPayment | FetchedRefund>(
  listed: Answer<Listed<Made>>,
  { id }: DueCall,
  code: string,
): Answer<Made> {
  if (listed.kind !== 'answered') return listed
  const { items, unreadable } = listed.value
  const made = items.find((one) => ('refundId' in one ? one.refundId : one.paymentId) === id)
  if (made !== undefined) return { kind: 'answered', value: made }
  // The unreadable object may be the one.
  if (unreadable.length > 0)
    return { kind: 'unknown', why: 'a list contains unreadable objects', retryAfterMs: searchAgainMs }
  return { kind: 'refused', code }
}

type NotAnswered = Exclude<Answer<never>, { readonly kind: 'answered' }>

/**
 * A rejection is final if the search found nothing. Any other failure is retried. Changes nothing if the outcome is
 * known by now.
 */
async function noteCall(
  { pool, log }: SettleDeps,
  table: Table,
  { id }: DueCall,
  answer: NotAnswered,
): Promise<void> {
  await inScope(pool, paymentsScope, async (client) => {
    if (answer.kind === 'refused') return noteRefused(client, table, id, answer.code)
    await client.withoutAudit(
      'a call to the provider in progress; its outcome is in the ledger',
      `update ${table} set next_call_at = clock_timestamp() + $2 * interval '1 ms'
        where id = $1 and next_call_at is not null`,
      [id, answer.retryAfterMs],
    )
  })
  if (answer.kind === 'refused')
    log.error({ table, id, code: answer.code }, 'payment provider rejected a call')
  else log.warn({ table, id, why: answer.why }, 'outcome of a call is unknown; will be repeated')
}

async function noteRefused(client: ScopedClient, table: Table, id: string, code: string): Promise<void> {
  const { rowCount } = await client.withoutAudit(
    'a call to the provider in progress; its outcome is in the ledger',
    `update ${table} set status = 'canceled', cancellation_reason = $2, call_body = null, next_call_at = null
      where id = $1 and provider_id is null and status = 'pending'`,
    [id, code],
  )
  if (table === 'payments' && rowCount === 1) await noteCanceled(client, id, code)
}

/** Gives up a payment that was created with other values than requested. No one gets its link, so no one pays it. */
function giveUp(pool: Pool, { id }: DueCall): Promise<void> {
  return inScope(pool, paymentsScope, (client) => noteRefused(client, 'payments', id, 'not_as_asked'))
}

/**
 * Ends the call of a refund that was created but put aside. The refund stays pending, so that the money is not
 * refunded twice.
 */
async function endCall(pool: Pool, { id }: DueCall): Promise<void> {
  await inScope(pool, paymentsScope, (client) =>
    client.withoutAudit(
      'a call to the provider in progress; its outcome is in the ledger',
      'update refunds set call_body = null, next_call_at = null where id = $1',
      [id],
    ),
  )
}
