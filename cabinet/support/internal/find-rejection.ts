import type { Pool } from 'pg'
import { findRefusal, listRefusedSince } from '#core/admission/listed-refusals'
import { inReadScope } from '#core/audit/scope'
import type { Queryable } from '#core/db/pool'
import { clockDifferenceMs, timeOfRequest } from '#core/ledger/request-id'
import { type RedisServers, RedisUnavailable } from '#core/redis/redis-connection'

/** Organizations whose lists are read at once. A list is at most 1,000 rejections of about 200 bytes. */
const batchCount = 20
/** Newest organizations, searched last. */
const newestMax = 200
/** Organizations that were rejected since the request, nearest first, whose lists are read. */
const recentMax = 2_000

type Organization = { readonly id: string; readonly name: string }
type Stores = { readonly pool: Pool; readonly redis: RedisServers }

/**
 * The organization whose list of rejections has this request. A request ID has the request's time, and Redis knows when
 * each organization was last rejected, so those rejected at that time or soon after are searched first. Rejections by
 * gateways of the release before are only in the lists, so the newest organizations are searched last.
 */
export async function findOrganizationOfRejection(
  stores: Stores,
  requestId: string,
): Promise<Organization | undefined> {
  const recent = await listRecent(stores.redis, requestId)
  const newest = await inReadScope(stores.pool, null, readNewest)
  const searched = [...new Set([...recent, ...newest])]
  for (let at = 0; at < searched.length; at += batchCount) {
    const found = await findAmong(stores.redis, searched.slice(at, at + batchCount), requestId)
    if (found !== undefined) return findOrganization(stores.pool, found)
  }
  return undefined
}

async function listRecent(redis: RedisServers, requestId: string): Promise<readonly string[]> {
  const atMs = timeOfRequest(requestId)
  if (atMs === undefined) return []
  try {
    return await listRefusedSince(redis, atMs - clockDifferenceMs, recentMax)
  } catch (error) {
    if (error instanceof RedisUnavailable) return []
    throw error
  }
}

async function findAmong(
  redis: RedisServers,
  organizationIds: readonly string[],
  requestId: string,
): Promise<string | undefined> {
  const found = await Promise.all(
    organizationIds.map(async (id) => ((await hasRefused(redis, id, requestId)) ? id : undefined)),
  )
  return found.find((id) => id !== undefined)
}

async function hasRefused(redis: RedisServers, organizationId: string, requestId: string): Promise<boolean> {
  try {
    return (await findRefusal(redis, organizationId, requestId)) !== undefined
  } catch (error) {
    if (error instanceof RedisUnavailable) return false // the receipts and the ledger are still found
    throw error
  }
}

async function readNewest(client: Queryable): Promise<readonly string[]> {
  const { rows } = await client.query<{ id: string }>(
    'select id from organizations order by created_at desc, id desc limit $1',
    [newestMax],
  )
  return rows.map(({ id }) => id)
}

function findOrganization(pool: Pool, id: string): Promise<Organization | undefined> {
  return inReadScope(pool, null, async (client) => {
    const { rows } = await client.query<Organization>('select id, name from organizations where id = $1', [
      id,
    ])
    return rows[0]
  })
}
