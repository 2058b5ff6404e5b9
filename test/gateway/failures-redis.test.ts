import { randomBytes, randomUUID } from 'node:crypto'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { writeKey } from '#core/keys/key'
import { shardOf } from '#core/redis/shard'
import { openStream } from '../support/chat-stream.ts'
import { pepper } from '../support/customer.ts'
import type { Process } from '../support/processes.ts'
import { readMetric } from '../support/read-metric.ts'
import { redisUrlOf } from '../support/redis-logins.ts'
import { viewOfThisFile } from '../support/redis-view.ts'
import { settledBooks } from '../support/settled-books.ts'
import { countTokens, post, stackOfThisFile, untilServed } from '../support/stack.ts'
import { gateOfThisTest } from '../support/tcp-gate.ts'
import { pausedAnswer } from '../support/upstream.ts'

const stack = await stackOfThisFile({ appendonly: 'yes' })
const view = viewOfThisFile(stack.redis)
const messages = [{ role: 'user', content: 'Say hello' }]
const wholeCost = 10n * 10_000n + 5n * 30_000n
let gateway: Process

beforeAll(async () => {
  await stack.startWorker()
  gateway = await stack.startGateway()
  // Redis knows every script from here on: one that it does not know yet is asked for twice.
  const { model, key, organizationId } = await served()
  await post(gateway, key, { model, messages })
  await settledBooks(stack, view, organizationId)
})

/** A customer and a model of only this test, known to a gateway. */
async function served(by = gateway) {
  const model = await stack.createModel()
  const customer = await stack.createCustomer()
  await untilServed(by, customer.key, model)
  return { model, ...customer }
}

function pauseAnswers(model: string): () => void {
  const { answer, goOn } = pausedAnswer()
  stack.upstream.answer(model, answer)
  return goOn
}

async function timed<Answer>(work: Promise<Answer>): Promise<{ answer: Answer; ms: number }> {
  const startedAtMs = performance.now()
  return { answer: await work, ms: performance.now() - startedAtMs }
}

/** How often a gateway's settle was not answered in time. */
function settlesFailed(by: Process): Promise<number> {
  return readMetric(by, 'redis_script_errors_total{script="settle"}')
}

async function untilSettlesFail(by: Process, atLeast: number): Promise<void> {
  await vi.waitFor(async () => expect(await settlesFailed(by)).toBeGreaterThanOrEqual(atLeast), {
    timeout: 3_000,
    interval: 20,
  })
}

async function restartRedis(): Promise<void> {
  await stack.redis.kill()
  await stack.redis.start()
}

test('Redis killed in the middle of a stream: the stream goes on, is charged once, and keys work again', async () => {
  const { model, key, organizationId } = await served()
  const goOn = pauseAnswers(model)
  const stream = await openStream(gateway, key, model)
  const epoch = await view.epochNonce(organizationId)
  await restartRedis()
  goOn()
  expect(await stream.ended).toBe('whole')
  const booked = (await settledBooks(stack, view, organizationId)).get(stream.requestId)
  expect(booked).toMatchObject({ costNano: wholeCost, chargeRows: 1, record: { outcome: 'completed' } })
  await untilServed(gateway, key, model)
  expect(await view.epochNonce(organizationId)).not.toBe(epoch)
})

test('Redis killed while it adds a charge: the last byte waits for the next run, and is charged once', async () => {
  const { model, key, organizationId } = await served()
  const goOn = pauseAnswers(model)
  const stream = await openStream(gateway, key, model)
  const failedBefore = await settlesFailed(gateway)
  stack.redis.freeze()
  goOn()
  await untilSettlesFail(gateway, failedBefore + 1)
  await restartRedis()
  expect(await stream.ended).toBe('whole')
  const booked = (await settledBooks(stack, view, organizationId)).get(stream.requestId)
  expect(booked).toMatchObject({ costNano: wholeCost, chargeRows: 1 })
})

test('a charge that was added while its acknowledgement was lost is charged once', async () => {
  const gate = await gateOfThisTest(stack.redis.port)
  const own = await stack.startGateway({ REDIS_URL: redisUrlOf.gateway(`redis://127.0.0.1:${gate.port}`) })
  const { model, key, organizationId } = await served(own)
  const goOn = pauseAnswers(model)
  const stream = await openStream(own, key, model)
  gate.holdAnswers()
  goOn()
  await vi.waitFor(async () => expect((await stack.readBooks(organizationId)).records.size).toBe(1), {
    timeout: 4_000,
  })
  await untilSettlesFail(own, 1)
  gate.letAnswersPass()
  expect(await stream.ended).toBe('whole')
  const booked = (await settledBooks(stack, view, organizationId)).get(stream.requestId)
  expect(booked).toMatchObject({ costNano: wholeCost, chargeRows: 1 })
})

test('a non-streaming answer whose charge was added unseen for 5 s is a 503, and the charge is corrected to 0', async () => {
  const gate = await gateOfThisTest(stack.redis.port)
  const own = await stack.startGateway({ REDIS_URL: redisUrlOf.gateway(`redis://127.0.0.1:${gate.port}`) })
  const { model, key, organizationId } = await served(own)
  const goOn = pauseAnswers(model)
  const asked = post(own, key, { model, messages })
  await vi.waitFor(() => expect(stack.upstream.requestsFor(model)).toHaveLength(1))
  gate.holdAnswers()
  goOn()
  const { answer, ms } = await timed(asked)
  expect([answer.status, answer.headers.get('x-gateway-cost-rub')]).toEqual([503, '0'])
  expect(ms).toBeLessThan(6_000)
  expect(await readMetric(own, 'requests_total{outcome="unsettled",status_class="5xx",stream="no"}')).toBe(1)
  const requestId = answer.headers.get('x-gateway-request-id') ?? ''
  expect((await stack.readBooks(organizationId)).costs.get(requestId)).toBe(wholeCost)

  gate.letAnswersPass()
  await vi.waitFor(
    async () => {
      const booked = (await settledBooks(stack, view, organizationId)).get(requestId)
      expect(booked).toMatchObject({
        costNano: 0n,
        chargeRows: 1,
        record: { outcome: 'unsettled', status: 503 },
      })
    },
    { timeout: 10_000 },
  )
})

test('Redis frozen at the last byte: a stream ends with an error within 5 s and is charged later, a non-streaming answer is a 503 and free', async () => {
  const [one, other] = [await served(), await served()]
  const goOn = [one, other].map(({ model }) => pauseAnswers(model))
  const stream = await openStream(gateway, one.key, one.model)
  const asked = post(gateway, other.key, { model: other.model, messages })
  await vi.waitFor(() => expect(stack.upstream.requestsFor(other.model)).toHaveLength(1))
  stack.redis.freeze()
  onTestFinished(() => stack.redis.thaw())
  for (const go of goOn) go()
  const [streamEnd, plainEnd] = await Promise.all([timed(stream.ended), timed(asked)])
  expect(streamEnd.answer).toBe('told')
  expect(plainEnd.answer.status).toBe(503)
  for (const { ms } of [streamEnd, plainEnd]) {
    expect(ms).toBeGreaterThan(4_500)
    expect(ms).toBeLessThan(6_000)
  }
  stack.redis.thaw()
  const streamed = (await settledBooks(stack, view, one.organizationId)).get(stream.requestId)
  expect(streamed).toMatchObject({ costNano: wholeCost, chargeRows: 1 })
  await vi.waitFor(async () => {
    const [booked] = (await settledBooks(stack, view, other.organizationId)).values()
    expect(booked).toMatchObject({ costNano: 0n, record: { outcome: 'unsettled' } })
  })
})

test('an admission whose reply came too late is released at once and charges nothing', async () => {
  const { model, key, organizationId } = await served()
  stack.redis.freeze()
  const { status } = await post(gateway, key, { model, messages })
  stack.redis.thaw()
  expect(status).toBe(503)
  const [booked] = (await settledBooks(stack, view, organizationId)).values()
  // Not `swept`: that would have held the money for a whole lease.
  expect(booked).toMatchObject({ costNano: 0n, record: { outcome: 'never_started' } })
})

test('while Redis is silent a rejected request leaves nothing behind to take back', async () => {
  const { model, key } = await served()
  const ask = async () => expect((await post(gateway, key, { model, messages })).status).toBe(503)
  stack.redis.freeze()
  onTestFinished(() => stack.redis.thaw())
  while ((await readMetric(gateway, 'redis_circuit_open')) === 0) await ask()
  const keptBefore = await readMetric(gateway, 'buffered_charges')
  for (let n = 0; n < 30; n++) await ask()
  // What probes whether Redis is back may have been admitted, four times a second.
  expect((await readMetric(gateway, 'buffered_charges')) - keptBefore).toBeLessThan(10)
})

test('without Redis every key gets 503 with Retry-After within 300 ms, never 401', async () => {
  const { model, key } = await served()
  const stranger = writeKey(shardOf(randomUUID()), randomBytes(32), pepper)
  const askAll = () =>
    Promise.all([
      ...[key, stranger].map((each) => timed(post(gateway, each, { model, messages }))),
      timed(countTokens(gateway, key, { model, messages })),
    ])
  await restartRedis() // and for as long as the shards are not open again
  const answers = await askAll()
  stack.redis.freeze()
  onTestFinished(() => stack.redis.thaw())
  for (let round = 0; round < 4; round++) answers.push(...(await askAll()))
  await stack.redis.kill()
  for (let round = 0; round < 4; round++) answers.push(...(await askAll()))
  await stack.redis.start()
  for (const { answer, ms } of answers) {
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1'])
    expect(ms).toBeLessThan(300)
  }
})
