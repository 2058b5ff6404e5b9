import type { RedisConnection } from '../redis/redis-connection.ts'
import { checkValueOf, PepperMismatch } from './pepper.ts'

const copyName = 'mg:pepper'

type Asked = Pick<RedisConnection, 'ask'>

/** Copies into Redis what tells the database's pepper: gateways have no Postgres. */
export async function copyPepperCheck(redis: Asked, check: string): Promise<void> {
  await redis.ask((commands) => commands.set(copyName, check))
}

/**
 * Makes sure that no other pepper than this is the database's, as far as Redis knows.
 *
 * @throws PepperMismatch, or RedisUnavailable.
 */
export async function requireCopiedPepper(redis: Asked, pepper: string): Promise<void> {
  const copied = await redis.ask((commands) => commands.get(copyName))
  if (copied !== null && copied !== checkValueOf(pepper)) throw new PepperMismatch()
}
