import type { RedisConnection } from '../redis/redis-connection.ts'
import { checkValueOf, PepperMismatch } from './pepper.ts'

const copyName = 'mg:pepper'

/** How long a starting process waits for Redis to learn which pepper is the right one. */
const connectTimeoutMs = 1_000

/** Copies into Redis what tells the database's pepper: gateways have no Postgres. */
export async function copyPepperCheck(redis: Pick<RedisConnection, 'ask'>, check: string): Promise<void> {
  await redis.ask((commands) => commands.set(copyName, check))
}

/**
 * Makes sure that no other pepper than this is the database's, as far as Redis knows.
 *
 * @param onUnchecked hears why Redis could not be asked; the process then starts all the same.
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
