import type { Pool } from 'pg'
import { inTransaction } from '../db/transaction.ts'
import { credit } from '../ledger/credit.ts'
import type { NanoRub } from '../ledger/money.ts'
import { createOrganization, type Organization } from './organization-store.ts'

/**
 * The organization of this name, made on first sight with `balance` as its trial.
 *
 * Made with its balance in one transaction, so a crash leaves both or neither.
 */
export function readOrMakeOrganization(
  pool: Pool,
  name: string,
  balance: NanoRub,
): Promise<Organization & { readonly created: boolean }> {
  return inTransaction(pool, async (client) => {
    const organization = await createOrganization(client, name)
    if (organization.created && balance > 0n)
      await credit(client, {
        organizationId: organization.id,
        kind: 'trial',
        refId: organization.id,
        amount: balance,
      })
    return organization
  })
}
