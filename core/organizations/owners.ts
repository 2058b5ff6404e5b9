import type { Queryable } from '../db/pool.ts'

/** A user who receives an organization's emails. */
export type Owner = { readonly id: string; readonly email: string; readonly locale: 'ru' | 'en' }

/** More owners than any organization has. */
const ownerCountMax = 50

/** The owners of an organization who have confirmed their address and are not blocked. Needs the platform's scope or its own. */
export async function findOwners(client: Queryable, organizationId: string): Promise<readonly Owner[]> {
  const { rows } = await client.query<Owner>(
    `select u.id, u.email, u.locale from memberships m join users u on u.id = m.user_id
      where m.organization_id = $1 and m.role = 'owner' and u.email_confirmed_at is not null and u.blocked_at is null
      order by u.id limit $2`,
    [organizationId, ownerCountMax],
  )
  return rows
}
