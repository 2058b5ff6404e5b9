import type { Pool } from 'pg'
import { inScope, type ScopedClient, scopeOfAdministrator } from '#core/audit/scope'
import { isId } from '#core/db/id'
import type { Administrator } from '../../api/access.ts'
import type { Visit } from '../../api/endpoint.ts'

/** A call about an organization. */
export type OfOrganization = {
  readonly caller: Administrator
  readonly visit: Visit
  readonly params: { readonly organization_id: string }
}

/** Audits that an administrator looks at an organization. Returns whether it exists. */
export async function noteView(
  pool: Pool,
  { caller, visit, params: { organization_id: id } }: OfOrganization,
  operation: string,
): Promise<boolean> {
  if (!isId(id)) return false
  const scope = scopeOfAdministrator(caller.administratorId, visit)
  return inScope(pool, scope, async (client: ScopedClient) => {
    const rows = await client.change('select from organizations where id = $1', [id], () => ({
      action: 'customer.view',
      subject: { kind: 'Organization', id },
      organizationId: id,
      before: null,
      after: { operation },
    }))
    return rows.length === 1
  })
}
