import type { Queryable } from '#core/db/pool'
import { type NanoRub, nanoRub } from '#core/ledger/money'

/** Balance of an organization in the ledger, and its low-balance threshold; `null`: no threshold. */
export async function readBalanceRow(
  client: Queryable,
  organizationId: string,
): Promise<{ readonly balance: NanoRub; readonly threshold: NanoRub | null }> {
  const { rows } = await client.query<{ balance: bigint; threshold: bigint | null }>(
    `select a.balance, o.low_balance_threshold_nano as threshold
       from org_account a join organizations o on o.id = a.organization_id where a.organization_id = $1`,
    [organizationId],
  )
  const [row] = rows
  if (row === undefined) throw new Error(`Organization ${organizationId} does not exist`)
  return {
    balance: nanoRub(row.balance),
    threshold: row.threshold === null ? null : nanoRub(row.threshold),
  }
}

/** A bonus credited to an organization once, and possibly taken back. */
export type Bonus = {
  readonly id: string
  readonly kind: 'trial' | 'welcome'
  readonly amount: NanoRub
  readonly grantedAt: Date
  readonly reversedAt: Date | null
}

/** An organization's bonuses, oldest first. Each kind is credited once. */
export async function readBonuses(client: Queryable, organizationId: string): Promise<readonly Bonus[]> {
  const { rows } = await client.query<Omit<Bonus, 'amount'> & { readonly amount: bigint }>(
    `select id, kind, amount, granted_at as "grantedAt", reversed_at as "reversedAt"
       from bonuses where organization_id = $1 order by granted_at, id`,
    [organizationId],
  )
  return rows.map(({ amount, ...row }) => ({ ...row, amount: nanoRub(amount) }))
}
