import { expect, onTestFinished, test, vi } from 'vitest'
import { loneGatewayOfThisFile } from '../support/lone-gateway.ts'

const { redis, warned, createKey, send } = await loneGatewayOfThisFile()
const { key } = await createKey()
/** Asks Redis and charges nothing: a gateway that has charges does not stop without Redis. */
const look = async () => (await send({ method: 'GET', path: '/v1/key', key })).status
const away = 'Redis is unavailable: requests get a 503 until it answers'
/** Warnings except those of the settings of this Redis, which has no file. */
const outages = () => warned.filter((words) => !words.includes('append-only file'))

async function beRefused(): Promise<void> {
  for (let n = 0; n < 12; n++) expect(await look()).toBe(503)
}

test('each outage of Redis is one warning: one that stopped to answer, and one that is gone', async () => {
  onTestFinished(() => redis.thaw())
  for (const count of [1, 2]) {
    redis.freeze()
    await beRefused()
    expect(outages()).toEqual(Array.from({ length: count }, () => away))
    redis.thaw()
    await vi.waitFor(async () => expect(await look()).toBe(200), { timeout: 10_000 })
  }
  await redis.kill()
  await vi.waitFor(() => expect(outages()).toHaveLength(3))
  await beRefused()
  expect(outages()).toEqual([away, away, away])
})
