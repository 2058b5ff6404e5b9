import { Redis } from 'ioredis'

const markerName = 'mg:standalone:database'

/**
 * Marks the caller's own Redis as used with this database.
 *
 * @throws Error when it is used with another one: its routes and keys would be served, and ours never.
 */
export async function claimRedis(redisUrl: string, databaseId: string): Promise<void> {
  const client = new Redis(redisUrl, { lazyConnect: true, retryStrategy: () => null })
  client.on('error', () => {}) // the command below fails with it
  try {
    await client.connect()
    const before = await client.set(markerName, databaseId, 'NX', 'GET')
    if (before === null || before === databaseId) return
  } catch (error) {
    throw new Error(
      `REDIS_URL: cannot use this Redis: ${error instanceof Error ? error.message : String(error)}`,
      { cause: error },
    )
  } finally {
    client.disconnect()
  }
  throw new Error(
    'The Redis at REDIS_URL holds keys and routes of another database. Empty it (FLUSHDB), use another one ' +
      '(for example redis://…/1), or start with the database that it was used with.',
  )
}
