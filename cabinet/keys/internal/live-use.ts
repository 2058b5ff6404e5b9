import { type ListedRefusal, readRefusals } from '../../admission/listed-refusals.ts'
import { lookAtKey } from '../../admission/look-at-key.ts'
import type { KeyState } from '../../keys/key-state.ts'
import { type RedisConnection, RedisUnavailable } from '../../redis/redis-connection.ts'
import { shardOf } from '../../redis/shard.ts'
import type { LiveUse } from './effective-limits.ts'

/** What Redis knows of a key; `undefined`: it is away, or does not know the key yet. Uses nothing up. */
export async function findLiveUse(
  redis: RedisConnection,
  { organizationId, secrets }: Pick<KeyState, 'organizationId' | 'secrets'>,
): Promise<LiveUse | undefined> {
  const secret = secrets.find(({ state }) => state === 'live')
  if (secret === undefined) return undefined
  const inspection = await orUndefined(lookAtKey(redis, shardOf(organizationId), secret.hash))
  return inspection?.key ?? undefined
}

/** The last refused requests of an organization; `undefined`: Redis is away. */
export function findRefusals(
  redis: RedisConnection,
  organizationId: string,
): Promise<readonly ListedRefusal[] | undefined> {
  return orUndefined(readRefusals(redis, organizationId))
}

async function orUndefined<Answer>(asked: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof RedisUnavailable) return undefined
    throw error
  }
}
