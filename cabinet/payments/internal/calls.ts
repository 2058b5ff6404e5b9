import type { Pool } from 'pg'
import { inScope, type ScopedClient } from '../../audit/scope.ts'
import { tellCanceled } from './payment-letters.ts'
import { findPayment } from './payment-store.ts'
import { clockSkewMs, paymentsScope } from './payments-scope.ts'
import type { Answer, FetchedPayment, FetchedRefund, Listed } from './provider.ts'
import { refreshPayment, type SettleDeps, settlePayment } from './settle-payment.ts'
import { noteUnreadable, unreadableOf } from './unreadable.ts'

/** What a call makes a row of. */
type Table = 'payments' | 'refunds'

/** A call that is due, and is this caller's until its lease ends. */
type DueCall = {
  readonly id: string
  readonly paymentId: string
  readonly callBody: string
  readonly createdAt: Date
  /** It was made before, and its outcome never told. */
  readonly isRepeated: boolean
  /** The provider forgets a key after 24 hours: with it the call would be another payment. */
  readonly isTooOld: boolean
}

/** What is due is taken for a minute, which is longer than a call; whoever dies leaves it to the next one. */
const take = `calls = calls + 1, next_call_at = clock_timestamp() + interval '1 minute'`
/** Somewhat less than 24 hours, which begin with the first call. */
const tooOld = `created_at < clock_timestamp() - interval '23 hours 55 minutes'`
/** One that was just noted is its maker's, before it is anybody's. */
const isDue = `($1::uuid is null and next_call_at <= clock_timestamp())
  or (id = $1 and next_call_at is not null and (calls = 0 or next_call_at <= clock_timestamp()))`
const returned = `id, call_body as "callBody", created_at as "createdAt", calls > 1 as "isRepeated", ${tooOld} as "isTooOld"`

/** Makes the call of one payment, or of any that is due. Answers whether one was. */
export async function callPayment(deps: SettleDeps, paymentId: string | null): Promise<boolean> {
  const due = await takeDue(deps.pool, 'payments', paymentId)
  if (due === undefined) return false
  const { provider } = deps.shop
  const answer = await makeCall(due, {
    post: () => provider.create(due.id, due.callBody),
    list: () => provider.list(new Date(due.createdAt.getTime() - clockSkewMs), new Date()),
  })
  if (answer.kind !== 'answered') await noteCall(deps, 'payments', due, answer)
  else await settleMade(deps, due, answer.value)
  return true
}

/** A call that is repeated answers with what became of its payment since, refunds included. */
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

/** Makes the call of one refund, or of any that is due. Answers whether one was. */
export async function callRefund(deps: SettleDeps, refundId: string | null): Promise<boolean> {
  const due = await takeDue(deps.pool, 'refunds', refundId)
  if (due === undefined) return false
  const payment = await inScope(deps.pool, paymentsScope, (client) =>
    findPayment(client, null, due.paymentId),
  )
  if (payment?.providerId == null) throw new Error(`refund ${due.id} is of a payment that was never made`)
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

/** Where the id of the payment stands that a call is about. */
const paymentColumn = { payments: 'id', refunds: 'payment_id' } as const

async function takeDue(pool: Pool, table: Table, id: string | null): Promise<DueCall | undefined> {
  const { rows } = await inScope(pool, paymentsScope, (client) =>
    client.unaudited<DueCall>(
      `update ${table} set ${take}
        where id = (select id from ${table} where ${isDue} order by next_call_at limit 1 for update skip locked)
       returning ${returned}, ${paymentColumn[table]} as "paymentId"`,
      [id],
    ),
  )
  return rows[0]
}

type Call<Made> = {
  readonly post: () => Promise<Answer<Made>>
  /** What this and other calls have made. */
  readonly list: () => Promise<Answer<Listed<Made>>>
}

/** A refusal says nothing of an earlier call whose outcome nobody was told: what that has made is searched for. */
async function makeCall<Made extends FetchedPayment | FetchedRefund>(
  due: DueCall,
  { post, list }: Call<Made>,
): Promise<Answer<Made>> {
  if (due.isTooOld) return findMade(await list(), due, 'never_made')
  const answer = await post()
  return answer.kind === 'refused' && due.isRepeated ? findMade(await list(), due, answer.code) : answer
}

const searchAgainMs = 3_600_000

/** What a call has made, among all; if nothing, it never will. */
function findMade<Made extends FetchedPayment | FetchedRefund>(
  listed: Answer<Listed<Made>>,
  { id }: DueCall,
  code: string,
): Answer<Made> {
  if (listed.kind !== 'answered') return listed
  const { items, unreadable } = listed.value
  const made = items.find((one) => ('refundId' in one ? one.refundId : one.paymentId) === id)
  if (made !== undefined) return { kind: 'answered', value: made }
  // It may be the one that cannot be read.
  if (unreadable.length > 0)
    return { kind: 'unknown', why: 'a list with what cannot be read', retryAfterMs: searchAgainMs }
  return { kind: 'refused', code }
}

type NotAnswered = Exclude<Answer<never>, { readonly kind: 'answered' }>

/** A refusal that nothing was found behind is final; anything else is asked again. Changes nothing once something else has found out. */
async function noteCall(
  { pool, log }: SettleDeps,
  table: Table,
  { id }: DueCall,
  answer: NotAnswered,
): Promise<void> {
  await inScope(pool, paymentsScope, async (client) => {
    if (answer.kind === 'refused') return noteRefused(client, table, id, answer.code)
    await client.unaudited(
      `update ${table} set next_call_at = clock_timestamp() + $2 * interval '1 ms'
        where id = $1 and next_call_at is not null`,
      [id, answer.retryAfterMs],
    )
  })
  if (answer.kind === 'refused') log.error({ table, id, code: answer.code }, 'the provider refused a call')
  else log.warn({ table, id, why: answer.why }, 'the outcome of a call is unknown; it will be repeated')
}

async function noteRefused(client: ScopedClient, table: Table, id: string, code: string): Promise<void> {
  const { rowCount } = await client.unaudited(
    `update ${table} set status = 'canceled', cancellation_reason = $2, call_body = null, next_call_at = null
      where id = $1 and provider_id is null and status = 'pending'`,
    [id, code],
  )
  if (table === 'payments' && rowCount === 1) await tellCanceled(client, id, code)
}

/** A payment that was made otherwise than it was asked for: nobody gets the link to it, so nobody pays it. */
function giveUp(pool: Pool, { id }: DueCall): Promise<void> {
  return inScope(pool, paymentsScope, (client) => noteRefused(client, 'payments', id, 'not_as_asked'))
}

/** A refund that was made, and put aside: it stays pending, so that nobody gives the same money back again. */
async function endCall(pool: Pool, { id }: DueCall): Promise<void> {
  await inScope(pool, paymentsScope, (client) =>
    client.unaudited('update refunds set call_body = null, next_call_at = null where id = $1', [id]),
  )
}
