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
