import type { Queryable } from '../db/pool.ts'
import { type NanoRub, nanoRub } from './money.ts'

/** An organization's balance in the ledger, without charges that still wait in Redis. */
export async function readBalance(client: Queryable, organizationId: string): Promise<NanoRub> {
  const { rows } = await client.query<{ balance: bigint }>(
    'select balance from org_account where organization_id = $1',
    [organizationId],
  )
  const [account] = rows
  if (account === undefined) throw new Error(`Organization ${organizationId} does not exist`)
  return nanoRub(account.balance)
}

/** How many rows the ledger of each of these organizations has: another number is another balance, or was in between. */
export async function readAccountVersions(
  client: Queryable,
  organizationIds: readonly string[],
): Promise<ReadonlyMap<string, { readonly version: bigint; readonly changedAt: Date }>> {
  const { rows } = await client.query<{ organizationId: string; version: bigint; changedAt: Date }>(
    'select organization_id as "organizationId", version, updated_at as "changedAt" from org_account where organization_id = any($1::uuid[])',
    [organizationIds],
  )
  return new Map(rows.map(({ organizationId, ...account }) => [organizationId, account]))
}
