import { commonName } from '../redis/common-name.ts'
import type { RedisServers } from '../redis/redis-connection.ts'
import { checkValueOf, PepperMismatch } from './pepper.ts'

/** Outside the shards: `mg:pepper`. */
const copyName = (redis: Pick<RedisServers, 'kind'>) => commonName(redis, 'pepper')

/** How long a starting process waits for Redis to learn which pepper is the right one. */
const connectTimeoutMs = 1_000

/** Copies the check value of the database's pepper into Redis, because gateways have no Postgres. */
export async function copyPepperCheck(
  redis: Pick<RedisServers, 'common' | 'kind'>,
  check: string,
): Promise<void> {
  await redis.common().ask((commands) => commands.set(copyName(redis), check))
}

/**
 * Checks that this pepper is the database's, by the copy in Redis.
 *
 * @param onUnchecked called with the reason if Redis is unavailable; the process then starts anyway.
 * @throws PepperMismatch
 */
export async function requireCopiedPepper(
  redis: Pick<RedisServers, 'common' | 'kind' | 'connected'>,
  pepper: string,
  onUnchecked: (error: unknown) => void,
): Promise<void> {
  const copied = await readCopy(redis).catch(onUnchecked)
  if (typeof copied === 'string' && copied !== checkValueOf(pepper)) throw new PepperMismatch()
}

async function readCopy(redis: Pick<RedisServers, 'common' | 'kind' | 'connected'>): Promise<string | null> {
  await redis.connected(connectTimeoutMs)
  return await redis.common().ask((commands) => commands.get(copyName(redis)))
}
