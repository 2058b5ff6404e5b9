import type { Queryable } from '../db/pool.ts'
import { type NanoRub, nanoRub } from './money.ts'

/** What an organization has, by the ledger: charges that still wait in Redis are not in it yet. */
export async function readBalance(client: Queryable, organizationId: string): Promise<NanoRub> {
  const { rows } = await client.query<{ balance: bigint }>(
    'select balance from org_account where organization_id = $1',
    [organizationId],
  )
  const [account] = rows
  if (account === undefined) throw new Error(`Organization ${organizationId} does not exist`)
  return nanoRub(account.balance)
}
