import { Redis } from 'ioredis'
import { expect, test, vi } from 'vitest'
import type { RedisServer } from '#standalone/redis'
import { openStream } from '../support/chat-stream.ts'
import type { Customer } from '../support/customer.ts'
import type { Process } from '../support/processes.ts'
import { readMetric } from '../support/read-metric.ts'
import { redisClusterOfThisFile } from '../support/redis-cluster.ts'
import { redisUrlOf } from '../support/redis-logins.ts'
import { post, stackOfThisFile, untilListed, untilServed } from '../support/stack.ts'
import { pausedAnswer, plain } from '../support/upstream.ts'

const cluster = await redisClusterOfThisFile()
const stack = await stackOfThisFile()
const messages = [{ role: 'user', content: 'Say hello' }]

type DataPlane = { readonly gateway: Process; readonly worker: Process }

async function startAt(urls: string): Promise<DataPlane> {
  const [worker, gateway] = await Promise.all([
    stack.startWorker({ REDIS_URL: redisUrlOf.worker(urls) }),
    stack.startGateway({ REDIS_URL: redisUrlOf.gateway(urls), REDIS_TIMEOUT_MS: '1000' }),
  ])
  return { gateway, worker }
}

/** The runbook (docs/operate/redis-cluster.md) while a response is in progress, whose id it answers. */
async function stopByRunbook(
  { gateway, worker }: DataPlane,
  { key }: Customer,
  { model, goOn }: Awaited<ReturnType<typeof slowModel>>,
): Promise<string> {
  await untilListed(gateway, key, [model])
  const stream = await openStream(gateway, key, model)
  await vi.waitFor(async () => expect(await readMetric(worker, 'holds')).toBe(1), 20_000)
  const stopped = gateway.stop()
  goOn()
  expect(await stream.ended).toBe('whole')
  await stopped
  await vi.waitFor(async () => {
    expect(await readMetric(worker, 'charges_unposted')).toBe(0)
    expect(await readMetric(worker, 'holds')).toBe(0)
  }, 20_000)
  await worker.stop()
  return stream.requestId
}

async function empty(servers: readonly RedisServer[]): Promise<void> {
  for (const { url } of servers) {
    const redis = new Redis(url)
    await redis.flushall().catch((error: Error) => expect(error.message).toMatch(/^READONLY/)) // a replica
    redis.disconnect()
  }
}

/** A model whose response goes on when the test lets it. */
async function slowModel() {
  const model = await stack.createModel()
  const { answer, goOn } = pausedAnswer()
  stack.upstream.answer(model, answer)
  return { model, goOn }
}

test('from one Redis to a cluster and back by the runbook: running responses end, every one is charged once, no balance is lost', {
  timeout: 240_000,
}, async () => {
  const customer = await stack.createCustomer({ rpm: 1_000_000, tpm: 1_000_000_000 })
  const model = await stack.createModel()
  stack.upstream.answer(model, plain('hello'))
  const answered: string[] = []
  const before = await stack.readBooks(customer.organizationId)

  const serve = async ({ gateway }: DataPlane) => {
    await untilServed(gateway, customer.key, model)
    for (let asked = 0; asked < 3; asked++) {
      const response = await post(gateway, customer.key, { model, messages })
      expect(response.status).toBe(200)
      await response.text()
      answered.push(response.headers.get('x-gateway-request-id') ?? '')
    }
  }
  const slow = [await slowModel(), await slowModel()] as const

  const onOne = await startAt(stack.redis.url)
  await serve(onOne)
  answered.push(await stopByRunbook(onOne, customer, slow[0]))
  await empty(cluster.nodes)
  const onCluster = await startAt(cluster.url)
  await serve(onCluster)
  answered.push(await stopByRunbook(onCluster, customer, slow[1]))
  await empty([stack.redis])
  const onOneAgain = await startAt(stack.redis.url)
  await serve(onOneAgain)
  await onOneAgain.gateway.stop()
  await vi.waitFor(
    async () => expect(await readMetric(onOneAgain.worker, 'charges_unposted')).toBe(0),
    20_000,
  )

  const { balance, chargeRows, costs } = await stack.readBooks(customer.organizationId)
  expect(answered.filter((id) => chargeRows.get(id) !== 1)).toEqual([])
  expect([...chargeRows.values()].every((rows) => rows === 1)).toBe(true)
  const spent = [...costs.values()].reduce((sum, cost) => sum + cost, 0n)
  expect(balance).toBe(before.balance - spent)
})
