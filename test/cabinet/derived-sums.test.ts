import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createAdmission } from '#core/admission/admission'
import { hashKey, type KeySecret } from '#core/keys/key'
import { connectRedis } from '#core/redis/redis-connection'
import { chargesName, type Shard, shardOf, shardPrefix } from '#core/redis/shard'
import { type Customer, pepper, uuidV7 } from '../support/customer.ts'
import { inheritedEnvironment, isSlowRun } from '../support/environment.ts'
import { emptyRecord, fixedCandidate, holdOf } from '../support/shards.ts'
import { stackOfThisFile } from '../support/stack.ts'
import { appendOnlyFolder, tearAppendOnlyFile } from '../support/torn-redis-file.ts'

const usual = test.skipIf(isSlowRun)

const stack = await stackOfThisFile({ appendonly: 'yes' })
const connection = connectRedis(stack.redis.url, { name: 'test', timeoutMs: 2_000 })
afterAll(() => connection.close())
const admission = createAdmission(connection)
const { redis: client } = connection

const workers: Awaited<ReturnType<typeof stack.startWorker>>[] = []
beforeAll(startWorker)

async function startWorker() {
  workers.push(await stack.startWorker())
}

/** Everything of one organization: its holds and charges pass its shard one after the other. */
function spender({ organizationId, keyId, key }: Customer) {
  const shard: Shard = shardOf(organizationId)
  const nameOf = (rest: string) => `${shardPrefix(shard)}${rest}`
  const admit = () =>
    admission.admit({
      requestId: uuidV7(),
      shard,
      secretHash: hashKey(key as KeySecret, pepper),
      candidates: [fixedCandidate({ holdNano: 1_000n })],
      record: emptyRecord,
      timeoutMs: 600_000,
    })
  return {
    nameOf,
    admit,
    /** Once the shard is open. */
    hold: () => vi.waitFor(async () => holdOf(await admit()), { timeout: 20_000, interval: 20 }),
    async sums() {
      const [pending, held] = await client.hmget(nameOf(`org:${organizationId}`), 'pending', 'held')
      const use = await client.hgetall(nameOf(`use:${keyId}`))
      const ofDays = (field: string) =>
        Object.entries(use).reduce(
          (sum, [name, value]) => (name.endsWith(`:${field}`) ? sum + BigInt(value) : sum),
          0n,
        )
      return {
        organization: { pending: BigInt(pending ?? 0), held: BigInt(held ?? 0) },
        key: { pending: ofDays('pending'), held: ofDays('held') },
      }
    },
    /** What the entries and holds that are there add up to. */
    async derived() {
      const entries = await client.xrange(chargesName(shard), '-', '+')
      const names = await client.keys(nameOf('request:*'))
      const holds = (await Promise.all(names.map((name) => client.get(name)))).filter((text) =>
        text?.startsWith('held'),
      )
      const pending = entries.reduce(
        (sum, [, fields]) => sum + BigInt(fields[fields.indexOf('pending') + 1] ?? 0),
        0n,
      )
      return { pending, held: holds.reduce((sum, text) => sum + BigInt(text?.split(' ')[5] ?? 0), 0n) }
    },
  }
}

async function startSpender() {
  const customer = spender(await stack.createCustomer())
  await customer.hold()
  return customer
}

usual('a worker that starts mends the sums that a hand has changed', async () => {
  const { nameOf, sums, derived } = await startSpender()
  const [org = ''] = await client.keys(nameOf('org:*'))
  await client.hset(org, 'held', '-77', 'pending', '5')
  await startWorker()
  await vi.waitFor(async () => expect((await sums()).organization).toEqual(await derived()), {
    timeout: 10_000,
  })
  expect((await derived()).held).toBe(1_000n)
})

test('a file of Redis that was cut at any byte leaves no sum that is not of something, also after a second restart', async () => {
  const customer = await startSpender()
  const folder = await appendOnlyFolder(client)
  for (const cutBytes of isSlowRun ? [1, 90, 160, 1_021] : [37, 333]) {
    for (let n = 0; n < 6; n++) {
      const hold = await customer.hold()
      if (n % 2 === 0)
        await admission.settle({
          hold,
          chargeKind: 'settled',
          costNano: 400n,
          tokens: 1,
          record: emptyRecord,
        })
    }
    await stack.redis.kill()
    await tearAppendOnlyFile(folder, cutBytes)
    await stack.redis.start()
    await customer.hold()
    await stack.redis.kill()
    await stack.redis.start()
    await customer.hold()
    await vi.waitFor(async () => {
      const [sums, derived] = [await customer.sums(), await customer.derived()]
      expect(sums).toEqual({ organization: derived, key: derived })
    })
  }
}, 120_000)

usual(
  'npm run invariants finds a sum that a hand has changed, corrects it and ends with 1; then with 0',
  async () => {
    const { nameOf, sums, derived } = await startSpender()
    const check = () =>
      promisify(execFile)(process.execPath, [join(import.meta.dirname, '../../worker/invariants/main.ts')], {
        env: { ...inheritedEnvironment, DATABASE_URL: stack.database.url, REDIS_URL: stack.redis.url },
      })
    const [org = ''] = await client.keys(nameOf('org:*'))
    // A worker that opens the shards again after the restarts above would correct the sum before the command does.
    await Promise.all(workers.map((worker) => worker.kill()))
    await client.hset(org, 'held', '-77')
    await expect(check()).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringMatching(
        /redis_sums_are_derived: 1 breach, for example held of .*, which was -77 and is 1000 now/,
      ),
    })
    expect((await sums()).organization).toEqual(await derived())
    expect((await check()).stdout).toContain('redis_sums_are_derived: ok\n')
  },
)
