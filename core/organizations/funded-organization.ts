import type { ScopedClient } from '../audit/scope.ts'
import { credit } from '../ledger/credit.ts'
import type { NanoRub } from '../ledger/money.ts'
import { createOrganization, type Organization } from './organization-store.ts'

/**
 * Returns the organization of this name, and creates it if needed with `openingBalance`: an adjustment,
 * because it is not revenue.
 */
export async function readOrMakeOrganization(
  client: ScopedClient,
  name: string,
  openingBalance: NanoRub,
): Promise<Organization & { readonly created: boolean }> {
  const organization = await createOrganization(client, name)
  if (organization.created && openingBalance > 0n)
    await credit(client, {
      organizationId: organization.id,
      kind: 'adjustment',
      refId: organization.id,
      amount: openingBalance,
    })
  return organization
}
