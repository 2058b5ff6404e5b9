import type { Pool } from 'pg'
import { readRefusals } from '#core/admission/listed-refusals'
import { inReadScope } from '#core/audit/scope'
import { type RedisConnection, RedisUnavailable } from '#core/redis/redis-connection'

/** Organizations whose lists are read. A list has at most 100 rejections, and all of them together take about 30 ms. */
const organizationsMax = 200

type Organization = { readonly id: string; readonly name: string }

/**
 * The organization whose list of rejections has this request. Redis keeps one list per organization and no index of
 * them, so only the newest organizations are searched.
 */
export async function findOrganizationOfRejection(
  { pool, redis }: { readonly pool: Pool; readonly redis: RedisConnection },
  requestId: string,
): Promise<Organization | undefined> {
  const organizations = await inReadScope(pool, null, async (client) => {
    const { rows } = await client.query<Organization>(
      'select id, name from organizations order by created_at desc, id desc limit $1',
      [organizationsMax],
    )
    return rows
  })
  const found = await Promise.all(
    organizations.map(async (organization) =>
      (await hasRefused(redis, organization.id, requestId)) ? organization : undefined,
    ),
  )
  return found.find((organization) => organization !== undefined)
}

async function hasRefused(
  redis: RedisConnection,
  organizationId: string,
  requestId: string,
): Promise<boolean> {
  try {
    return (await readRefusals(redis, organizationId)).some((refused) => refused.requestId === requestId)
  } catch (error) {
    if (error instanceof RedisUnavailable) return false // the receipts and the ledger are still found
    throw error
  }
}
