import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { inScope, type ScopedClient } from '#core/audit/scope'
import { nanoRub } from '#core/ledger/money'
import type { Job } from '#core/process/job'
import type { Log } from '#core/process/log'
import type { Shop } from '../shop.ts'
import { type AutoTopUpFacts, decideAutoTopUp } from './auto-top-up-decision.ts'
import { chargedTodaySql } from './auto-top-up-store.ts'
import { automaticPaymentBody } from './call-body.ts'
import { stopAutoTopUp } from './saved-card.ts'

/** Charges send no hint, so a low balance is found at most this long after posting. */
const everyMs = 10_000
/** Before an organization is checked again, whatever was decided or has failed. */
const pauseSeconds = 20
/** Organizations of one run. The rest follow immediately. */
const countMax = 100

const actor = { kind: 'job', name: 'auto-top-up' } as const

/**
 * Orders a payment with the saved card of each organization whose balance has fallen below its threshold. It only writes
 * the payment's row, in one transaction with the check: a killed worker has ordered it or has not, and of two workers the
 * second finds it. The call follows as for every payment, with its row's ID as idempotency key.
 */
export function autoTopUpJob({ pool, log }: { readonly pool: Pool; readonly log: Log }, shop: Shop): Job {
  return {
    name: 'auto_top_ups',
    everyMs,
    wokenBy: ['credits'],
    mayFail: true,
    async run() {
      const due = await findDue(pool)
      for (const organizationId of due) {
        try {
          await inScope(pool, { actor, organizationId }, (client) => check(client, organizationId, shop))
        } catch (error) {
          const why = error instanceof Error ? error.message : String(error)
          log.error({ organizationId, error: why }, 'automatic top-up cannot be checked; retried later')
          await postponeFailed(pool, organizationId)
        }
      }
      return due.length === countMax ? 'more' : 'idle'
    },
  }
}

const isDueSql = `c.amount_nano is not null and c.stopped_at is null and c.next_check_at <= clock_timestamp()`

async function findDue(pool: Pool): Promise<readonly string[]> {
  const { rows } = await pool.query<{ id: string }>(
    `select c.organization_id as id from saved_cards c join org_account a using (organization_id)
      where ${isDueSql} and a.balance < c.threshold_nano order by c.next_check_at limit $1`,
    [countMax],
  )
  return rows.map(({ id }) => id)
}

async function postpone(client: ScopedClient, organizationId: string): Promise<void> {
  await client.withoutAudit(
    'when to check an automatic top-up again',
    `update saved_cards set next_check_at = clock_timestamp() + make_interval(secs => $2) where organization_id = $1`,
    [organizationId, pauseSeconds],
  )
}

/** Outside the transaction of the check, which has failed. Another process that has locked the row is changing it. */
async function postponeFailed(pool: Pool, organizationId: string): Promise<void> {
  await pool.query(
    `update saved_cards set next_check_at = clock_timestamp() + make_interval(secs => $2)
      where organization_id in (select organization_id from saved_cards
                                 where organization_id = $1 for no key update skip locked)`,
    [organizationId, pauseSeconds],
  )
}

type Due = AutoTopUpFacts & {
  readonly cardPaymentId: string
  readonly methodId: string
  readonly email: string
}

async function check(client: ScopedClient, organizationId: string, shop: Shop): Promise<void> {
  const due = await lockDue(client, organizationId)
  if (due === undefined) return
  await postpone(client, organizationId)
  const decision = decideAutoTopUp(due)
  if (decision === 'wait') return
  if (decision === 'charge') await order(client, organizationId, due, shop)
  else await stopAutoTopUp(client, { organizationId, cardPaymentId: due.cardPaymentId }, decision.stop)
}

/** Locks the card, and then reads what the decision needs: another worker may have ordered a payment in between. */
async function lockDue(client: ScopedClient, organizationId: string): Promise<Due | undefined> {
  const { rowCount } = await client.query(
    `select from saved_cards c where c.organization_id = $1 and ${isDueSql} for no key update skip locked`,
    [organizationId],
  )
  if (rowCount === 0) return undefined
  const { rows } = await client.query<Due>(
    `select c.payment_id as "cardPaymentId", c.method_id as "methodId", u.email, a.balance, c.threshold_nano as threshold, c.amount_nano as amount,
            c.daily_max_nano as "dailyMax", ${chargedTodaySql} as "chargedToday", l.at as "lastAt", l."openSince", c.expires,
            to_char(clock_timestamp() at time zone o.time_zone, 'YYYY-MM') as month,
            (o.blocked_at is not null or u.blocked_at is not null) as "isBlocked", clock_timestamp() as now
       from saved_cards c join organizations o on o.id = c.organization_id join users u on u.id = c.user_id
            join org_account a on a.organization_id = c.organization_id
            cross join lateral (
              select max(p.created_at) as at,
                     min(p.created_at) filter (where p.status in ('pending', 'waiting_for_capture')) as "openSince"
                from payments p where p.organization_id = o.id and p.automatic_day is not null) l
      where c.organization_id = $1`,
    [organizationId],
  )
  return rows[0]
}

/** Postgres checks the limits again and takes amount and payer from the card's row. */
async function order(client: ScopedClient, organizationId: string, due: Due, shop: Shop): Promise<void> {
  const id = randomUUID()
  const { methodId, email, amount } = due
  const sale = { id, amount: nanoRub(amount), email, receipt: shop.receipt }
  await client.change<{ ordered: boolean }>(
    'select order_automatic_payment($1, $2, $3) as ordered',
    [id, organizationId, automaticPaymentBody({ ...sale, methodId })],
    ([row]) =>
      row?.ordered === true
        ? {
            action: 'payment.create',
            subject: { kind: 'Payment', id },
            organizationId,
            before: null,
            after: { amountNano: String(amount), isAutomatic: true },
          }
        : undefined,
  )
}
