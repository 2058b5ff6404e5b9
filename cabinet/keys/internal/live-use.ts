import { findRefusal, type ListedRefusal, readRefusals } from '#core/admission/listed-refusals'
import { lookAtKey } from '#core/admission/look-at-key'
import type { KeyState } from '#core/keys/key-state'
import { type RedisServers, RedisUnavailable } from '#core/redis/redis-connection'
import { shardOf } from '#core/redis/shard'
import type { LiveUse } from './effective-limits.ts'

/** The state of a key in Redis. `undefined`: Redis is unavailable or does not have the key yet. Consumes nothing. */
export async function findLiveUse(
  redis: RedisServers,
  { organizationId, secrets }: Pick<KeyState, 'organizationId' | 'secrets'>,
): Promise<LiveUse | undefined> {
  const secret = secrets.find(({ state }) => state === 'live')
  if (secret === undefined) return undefined
  const inspection = await orUndefined(lookAtKey(redis, shardOf(organizationId), secret.hash))
  return inspection?.key ?? undefined
}

/** The last rejected requests of an organization; `undefined`: Redis is unavailable. */
export function findRefusals(
  redis: RedisServers,
  organizationId: string,
): Promise<readonly ListedRefusal[] | undefined> {
  return orUndefined(readRefusals(redis, organizationId))
}

/** One rejected request; `null`: there is none; `undefined`: Redis is unavailable. */
export function findOneRefusal(
  redis: RedisServers,
  organizationId: string,
  requestId: string,
): Promise<ListedRefusal | null | undefined> {
  return orUndefined(findRefusal(redis, organizationId, requestId).then((found) => found ?? null))
}

async function orUndefined<Answer>(asked: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof RedisUnavailable) return undefined
    throw error
  }
}
