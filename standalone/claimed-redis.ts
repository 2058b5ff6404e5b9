import { Redis } from 'ioredis'

const markerName = 'mg:standalone:database'

/**
 * Marks your own Redis as used with this database.
 *
 * @throws Error if it is used with another database. That database's routes and keys would be served instead of this one's.
 */
export async function claimRedis(redisUrl: string, databaseId: string): Promise<void> {
  const client = new Redis(redisUrl, { lazyConnect: true, retryStrategy: () => null })
  client.on('error', () => {}) // the command below fails with the same error
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
    'The Redis at REDIS_URL holds keys and routes of another database. Empty it (FLUSHDB), use another Redis ' +
      '(for example redis://…/1), or start with its original database.',
  )
}
