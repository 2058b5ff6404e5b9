import type { ScopedClient } from '../audit/scope.ts'
import { type NanoRub, nanoRub } from './money.ts'

export type Credit = {
  readonly organizationId: string
  readonly kind: 'top_up' | 'trial' | 'welcome' | 'refund' | 'adjustment' | 'bonus_reversal'
  /**
   * The payment, refund, bonus or order behind it: together with `kind` it ensures that the credit happens
   * once.
   */
  readonly refId: string
  /** Negative takes money: a refund, a reversal. Never 0. */
  readonly amount: NanoRub
  /** When it happened. Defaults to now. */
  readonly at?: Date
}

/**
 * Posts a credit once per (`refId`, `kind`), however often and from wherever it is requested.
 *
 * Returns the balance after it (now, if it was posted before) and whether this very call posted it. Holds the
 * organization's account until the transaction ends.
 *
 * @throws DatabaseError 23503: no such organization. 23505: posted before with another amount or
 * organization.
 */
export async function credit(
  client: ScopedClient,
  { organizationId, kind, refId, amount, at = new Date() }: Credit,
): Promise<{ readonly balance: NanoRub; readonly version: bigint; readonly booked: boolean }> {
  const [row] = await client.change<{ balance: bigint; version: bigint; booked: boolean }>(
    // The administration process may post adjustments, and no other credit.
    kind === 'adjustment'
      ? 'select * from post_adjustment($1, $2, $3, $4)'
      : 'select * from post_credit($1, $5, $2, $3, $4)',
    [organizationId, refId, amount, at, ...(kind === 'adjustment' ? [] : [kind])],
    ([booking]) =>
      booking?.booked === true
        ? {
            action: 'organization.credit',
            subject: { kind: 'Organization', id: organizationId },
            organizationId,
            before: { balanceNano: booking.balance - amount },
            after: { balanceNano: booking.balance, amountNano: amount, kind, refId },
          }
        : undefined,
  )
  if (row === undefined) throw new Error('post_credit returned no row')
  return { ...row, balance: nanoRub(row.balance) }
}
