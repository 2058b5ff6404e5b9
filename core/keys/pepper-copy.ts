import type { RedisConnection } from '../redis/redis-connection.ts'
import { checkValueOf, PepperMismatch } from './pepper.ts'

const copyName = 'mg:pepper'

/** How long a starting process waits for Redis to learn which pepper is the right one. */
const connectTimeoutMs = 1_000

/** Copies the check value of the database's pepper into Redis, because gateways have no Postgres. */
export async function copyPepperCheck(redis: Pick<RedisConnection, 'ask'>, check: string): Promise<void> {
  await redis.ask((commands) => commands.set(copyName, check))
}

/**
 * Checks that this pepper is the database's, by the copy in Redis.
 *
 * @param onUnchecked called with the reason if Redis is unavailable; the process then starts anyway.
 * @throws PepperMismatch
 */
export async function requireCopiedPepper(
  redis: Pick<RedisConnection, 'ask' | 'connected'>,
  pepper: string,
  onUnchecked: (error: unknown) => void,
): Promise<void> {
  const copied = await readCopy(redis).catch(onUnchecked)
  if (typeof copied === 'string' && copied !== checkValueOf(pepper)) throw new PepperMismatch()
}

async function readCopy(redis: Pick<RedisConnection, 'ask' | 'connected'>): Promise<string | null> {
  await redis.connected(connectTimeoutMs)
  return await redis.ask((commands) => commands.get(copyName))
}
