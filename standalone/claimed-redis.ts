import { Redis } from 'ioredis'

const markerName = 'mg:standalone:database'

/**
 * Notes in somebody's own Redis which database it is for.
 *
 * @throws Error when it is for another one: that one's routes and keys would be served, and ours never appear.
 */
export async function claimRedis(redisUrl: string, databaseId: string): Promise<void> {
  const client = new Redis(redisUrl, { lazyConnect: true, retryStrategy: () => null })
  client.on('error', () => {}) // whoever asks hears of it
  try {
    await client.connect()
    const before = await client.set(markerName, databaseId, 'NX', 'GET')
    if (before === null || before === databaseId) return
  } catch (error) {
    throw new Error(`REDIS_URL: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  } finally {
    client.disconnect()
  }
  throw new Error(
    'The Redis of REDIS_URL holds keys and routes of another database. Empty it (FLUSHDB), or choose another one ' +
      '(redis://…/1), or start with the database that it was used with.',
  )
}
