import { setTimeout as pause } from 'node:timers/promises'
import type { Pool } from 'pg'
import { inReadScope, type ScopedClient } from '../audit/scope.ts'

/**
 * Blocks all keys of an organization, those that it creates later, too, or lifts that block: keys that were blocked or
 * revoked otherwise stay so. Repeated calls write nothing.
 */
export async function setOrganizationBlocked(
  client: ScopedClient,
  organizationId: string,
  state: 'blocked' | 'free',
): Promise<void> {
  const isBlocked = state === 'blocked'
  const changed = await client.change(
    `update organizations set blocked_at = case when $2 then now() end
      where id = $1 and (blocked_at is not null) <> $2 returning id`,
    [organizationId, isBlocked],
    () => ({
      action: isBlocked ? 'organization.block' : 'organization.unblock',
      subject: { kind: 'Organization', id: organizationId },
      organizationId,
      before: { blocked: !isBlocked },
      after: { blocked: isBlocked },
    }),
  )
  if (changed.length === 0) return
  await client.withoutAudit(
    'the block of the organization is audited',
    `update api_keys set organization_blocked_at = case when $2 then now() end
      where organization_id = $1 and revoked_at is null and (organization_blocked_at is not null) <> $2`,
    [organizationId, isBlocked],
  )
}

const waitMsMax = 2_000
const lookEveryMs = 50

/**
 * Waits until the data plane has every key of an organization as it is now: every request that begins after `true` sees
 * them so. `false` after 2 s.
 */
export async function waitForOrganizationKeys(pool: Pool, organizationId: string): Promise<boolean> {
  const endMs = performance.now() + waitMsMax
  do {
    if (await areProgrammed(pool, organizationId)) return true
    await pause(lookEveryMs)
  } while (performance.now() < endMs)
  return false
}

function areProgrammed(pool: Pool, organizationId: string): Promise<boolean> {
  return inReadScope(pool, organizationId, async (client) => {
    const { rowCount } = await client.query(
      'select from api_keys where organization_id = $1 and projected_version < version limit 1',
      [organizationId],
    )
    return rowCount === 0
  })
}
