import { expect, test, vi } from 'vitest'
import { requirePepper } from '#core/keys/database-pepper'
import { pepper } from '../support/customer.ts'
import { urlAs } from '../support/postgres.ts'
import { viewOfThisFile } from '../support/redis-view.ts'
import { stackOfThisFile } from '../support/stack.ts'

const stack = await stackOfThisFile()
const view = viewOfThisFile(stack.redis)

test('a gateway with another pepper than the database’s does not start, and logs one sentence without it', async () => {
  const { pool, url } = stack.database
  await requirePepper(pool, pepper)
  await stack.startWorker({ DATABASE_URL: urlAs('model_gateway_worker', url) })
  await vi.waitFor(async () => expect(await view.ask((redis) => redis.exists('mg:pepper'))).toBe(1))
  const other = 'another pepper, 32 characters long'
  const refused = stack.startGateway({ KEY_PEPPER: other })
  await expect(refused).rejects.toThrow(
    'KEY_PEPPER is not the one that the API keys of this database were made with',
  )
  await expect(refused).rejects.not.toThrow(other)
  await stack.startGateway()
})
