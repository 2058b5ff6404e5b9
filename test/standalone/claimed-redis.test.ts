import { expect, onTestFinished, test } from 'vitest'
import { claimRedis } from '#standalone/claimed-redis'
import { findFreePort } from '#standalone/port'
import { startRedis } from '#standalone/redis'

test('a Redis that another database was projected into is refused in a sentence; its own goes on', async () => {
  const redis = await startRedis({ appendonly: 'no' })
  onTestFinished(() => redis[Symbol.asyncDispose]())
  await claimRedis(redis.url, 'one')
  await claimRedis(redis.url, 'one')
  await expect(claimRedis(redis.url, 'two')).rejects.toThrow(/holds keys and routes of another database/)
  await claimRedis(`${redis.url}/1`, 'two')
})

test('a Redis that is not there is named by its setting', async () => {
  const url = `redis://127.0.0.1:${await findFreePort()}`
  await expect(claimRedis(url, 'one')).rejects.toThrow(/^REDIS_URL: /)
})
