import type { Pool } from 'pg'
import { credit } from '#cabinet/credit'
import type { NanoRub } from '#cabinet/money'
import { createOrganization } from '#cabinet/organization-store'
import { inTransaction } from '#cabinet/transaction'

/**
 * The id of the organization of this name, made on first sight with `balance` as its trial.
 *
 * Made with its balance in one transaction, so a crash leaves both or neither.
 */
export function readOrMakeOrganization(pool: Pool, name: string, balance: NanoRub): Promise<string> {
  return inTransaction(pool, async (client) => {
    const { id, created } = await createOrganization(client, name)
    if (created && balance > 0n)
      await credit(client, { organizationId: id, kind: 'trial', refId: id, amount: balance })
    return id
  })
}
