import type { ScopedClient } from '../audit/scope.ts'
import { credit } from '../ledger/credit.ts'
import type { NanoRub } from '../ledger/money.ts'
import { createOrganization, type Organization } from './organization-store.ts'

/** The organization of this name, made on first sight with `balance` as its trial. */
export async function readOrMakeOrganization(
  client: ScopedClient,
  name: string,
  balance: NanoRub,
): Promise<Organization & { readonly created: boolean }> {
  const organization = await createOrganization(client, name)
  if (organization.created && balance > 0n)
    await credit(client, {
      organizationId: organization.id,
      kind: 'trial',
      refId: organization.id,
      amount: balance,
    })
  return organization
}
