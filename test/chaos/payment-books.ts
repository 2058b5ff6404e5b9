import type { Pool } from 'pg'
import type { Journal } from '#standalone/yookassa/control-contracts'
import type { PaymentBooks, Side } from './payment-verdict.ts'

const kopeckNano = 10_000_000n

/** What Postgres has of payments; amounts that are no whole kopecks are rounded down, and so are wrong. */
export async function readPaymentBooks(pool: Pool): Promise<PaymentBooks> {
  const payments = await pool.query<{ id: string; amount: bigint; is_paid: boolean }>(
    'select id, amount, succeeded_at is not null as is_paid from payments',
  )
  const refunds = await pool.query<{ id: string; payment_id: string; amount: bigint }>(
    "select id, payment_id, amount from refunds where status = 'succeeded'",
  )
  const credits = await pool.query<{ ref_id: string; amount: bigint }>(
    "select ref_id, amount from balance_ledger where kind in ('top_up', 'refund')",
  )
  return {
    payments: payments.rows.map(({ id, amount, is_paid }) => ({
      ourId: id,
      isPaid: is_paid,
      kopecks: amount / kopeckNano,
    })),
    refunds: refunds.rows.map(({ id, payment_id, amount }) => ({
      ourId: id,
      paymentId: payment_id,
      kopecks: amount / kopeckNano,
    })),
    credits: credits.rows.map(({ ref_id, amount }) => ({ refId: ref_id, kopecks: amount / kopeckNano })),
  }
}

/** The test payment provider's payments. Pure. */
export function tillSideOf({ payments, refunds }: Pick<Journal, 'payments' | 'refunds'>): Side {
  const ourIds = new Map(payments.map(({ id, metadata }) => [id, metadata?.payment_id ?? null]))
  return {
    payments: payments.map(({ id, status, amount }) => ({
      ourId: ourIds.get(id) ?? null,
      isPaid: status === 'succeeded',
      kopecks: kopecksOf(amount.value),
    })),
    refunds: refunds
      .filter(({ status }) => status === 'succeeded')
      .map(({ payment_id, metadata, amount }) => ({
        paymentId: ourIds.get(payment_id) ?? '',
        ourId: metadata?.refund_id ?? null,
        kopecks: kopecksOf(amount.value),
      })),
  }
}

/** Notifications, calls and differences that are not finished. */
export async function countWaiting(
  pool: Pool,
): Promise<{ readonly notifications: number; readonly calls: number; readonly differences: number }> {
  const { rows } = await pool.query<{ notifications: number; calls: number; differences: number }>(
    `select (select count(*) from webhook_inbox where processed_at is null)::int as notifications,
            ((select count(*) from payments where next_call_at is not null)
              + (select count(*) from refunds where next_call_at is not null))::int as calls,
            (select count(*) from payment_differences)::int as differences`,
  )
  const [counts] = rows
  if (counts === undefined) throw new Error('Postgres counted nothing')
  return counts
}

function kopecksOf(value: string): bigint {
  return BigInt(value.replace('.', ''))
}
