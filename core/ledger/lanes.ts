import type { ScopedClient } from '../audit/scope.ts'
import type { Queryable } from '../db/pool.ts'

/** Most lanes of an organization (migration 0067). */
export const laneCountMax = 16

/** The lane in which `post_batch` posts a request, by the random end of its id. Pure. */
export function laneOf(requestId: string, laneCount: number): number {
  return Number.parseInt(requestId.slice(-8), 16) % laneCount
}

/** An organization with more than one lane. */
export type LanedOrganization = {
  readonly organizationId: string
  readonly shard: number
  readonly lanes: number
}

/** All organizations that have more than one lane. */
export async function readLanedOrganizations(client: Queryable): Promise<readonly LanedOrganization[]> {
  const { rows } = await client.query<LanedOrganization>(
    `select a.organization_id as "organizationId", o.shard, a.lanes
       from org_account a join organizations o on o.id = a.organization_id where a.lanes > 1`,
  )
  return rows
}

/** How many lanes an organization has; `undefined`: no such organization. */
export async function readLaneCount(client: Queryable, organizationId: string): Promise<number | undefined> {
  const { rows } = await client.query<{ lanes: number }>(
    'select lanes from org_account where organization_id = $1',
    [organizationId],
  )
  return rows[0]?.lanes
}

/**
 * Gives an organization more lanes, and returns how many it had before; `undefined`: no such organization.
 *
 * Fewer than before change nothing. Waits for charges that are being posted for the organization, and holds up the rest
 * until the transaction ends.
 *
 * @throws DatabaseError of SQLSTATE 22 if `laneCount` is not 1 to 16.
 */
export async function setLanes(
  client: ScopedClient,
  organizationId: string,
  laneCount: number,
): Promise<number | undefined> {
  const [row] = await client.change<{ before: number | null }>(
    'select set_lanes($1, $2) as before',
    [organizationId, laneCount],
    ([set]) =>
      set === undefined || set.before === null || laneCount <= set.before
        ? undefined
        : {
            action: 'organization.lanes',
            subject: { kind: 'Organization', id: organizationId },
            organizationId,
            before: { lanes: set.before },
            after: { lanes: laneCount },
          },
  )
  return row?.before ?? undefined
}
