import type { Queryable } from '#core/db/pool'

/** How many keys a member may have created in an organization at a time; `null`: as many as the organization may have. */
export async function readKeyLimit(
  client: Queryable,
  organizationId: string,
  userId: string,
): Promise<number | null> {
  const { rows } = await client.query<{ keysMax: number | null }>(
    'select keys_max as "keysMax" from memberships where organization_id = $1 and user_id = $2',
    [organizationId, userId],
  )
  return rows[0]?.keysMax ?? null
}
