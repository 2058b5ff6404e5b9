import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { openStream } from '../support/chat-stream.ts'
import { redisUrlOf } from '../support/redis-logins.ts'
import { viewOfThisFile } from '../support/redis-view.ts'
import { settledBooks } from '../support/settled-books.ts'
import { post, stackOfThisFile, untilServed } from '../support/stack.ts'
import { gateOfThisTest } from '../support/tcp-gate.ts'
import { pausedAnswer } from '../support/upstream.ts'

const stack = await stackOfThisFile()
const view = viewOfThisFile(stack.redis)
const messages = [{ role: 'user', content: 'Say hello' }]
const leaseMs = 1_000
/** 1 ₽ for the 1,000 tokens that an answer may have. */
const outputNano = 1_000_000n
const rub = 1_000_000_000n
const wholeCost = 5n * outputNano

beforeAll(async () => {
  await stack.startWorker()
})

/** A gateway behind a gate in its connection to Redis, with two streams under way that hold 2 ₽ of 2.5. */
async function startStreams() {
  const gate = await gateOfThisTest(stack.redis.port)
  const gateway = await stack.startGateway({
    REDIS_URL: redisUrlOf.gateway(`redis://127.0.0.1:${gate.port}`),
  })
  const model = await stack.createModel({ inputNano: 0n, outputNano, maxOutputTokens: 1_000 })
  const { key, organizationId } = await stack.createCustomer({ balanceNano: (5n * rub) / 2n, rpm: 1_000_000 })
  await untilServed(gateway, key, model)
  const { answer, goOn } = pausedAnswer()
  stack.upstream.answer(model, answer)
  const streams = [await openStream(gateway, key, model), await openStream(gateway, key, model)]
  return { gate, gateway, model, key, organizationId, goOn, streams }
}

type Running = Awaited<ReturnType<typeof startStreams>>

/** Both streams reach their clients whole, and the ledger has exactly their charges. */
async function endWhole({ streams, goOn, organizationId }: Running) {
  goOn()
  for (const { ended } of streams) expect(await ended).toBe('whole')
  const books = await settledBooks(stack, view, organizationId, { openingNano: (5n * rub) / 2n, requests: 2 })
  for (const { requestId } of streams) expect(books.get(requestId)).toMatchObject({ costNano: wholeCost })
}

test('a gateway that is cut off from Redis beyond its leases keeps its holds: no request spends what its streams may cost', async () => {
  const running = await startStreams()
  const { gate, model, key, organizationId } = running
  const healthy = await stack.startGateway()
  await untilServed(healthy, key, model)
  gate.shut()
  await vi.waitFor(
    async () => {
      const { records } = await stack.readBooks(organizationId)
      expect([...records.values()].map(({ record }) => record.outcome)).toEqual(['swept', 'swept'])
    },
    { timeout: 10_000, interval: 50 },
  )
  const ask = async () => {
    const response = await post(healthy, key, { model, messages, max_tokens: 1_000 })
    return ((await response.json()) as { error?: { code: string } }).error?.code
  }
  expect(await ask()).toBe('balance_reserved')
  gate.open()
  await vi.waitFor(async () => expect((await view.money(organizationId)).held).toBeGreaterThan(rub))
  expect(await ask()).toBe('balance_reserved')
  await endWhole(running)
})

test('renewals reach a Redis that answers too late for admissions, however many clients retry: no hold is swept', async () => {
  const running = await startStreams()
  const { gate, gateway, model, key, organizationId } = running
  // Far beyond what a gateway waits that is short of processor: an admission that is answered would wait for the provider.
  gate.delayAnswers(600)
  const untilMs = performance.now() + 4 * leaseMs
  const retry = async () => {
    while (performance.now() < untilMs) {
      const { status } = await post(gateway, key, { model, messages, max_tokens: 1 })
      if (status !== 503) await pause(10)
    }
  }
  await Promise.all(Array.from({ length: 8 }, retry))
  const { records } = await stack.readBooks(organizationId)
  expect([...records.values()].filter(({ record }) => record.outcome === 'swept')).toEqual([])
  gate.delayAnswers(0)
  running.goOn()
  for (const { ended } of running.streams) expect(await ended).toBe('whole')
})

test('a non-streaming answer that became a 503 is not charged by a Redis that was only frozen, though its gateway is dead', async () => {
  const doomed = await stack.startGateway()
  const timeouts = { requestMs: 8_000, firstByteMs: 5_000, streamIdleMs: 5_000 }
  const model = await stack.createModel({ timeouts })
  const { key, organizationId } = await stack.createCustomer()
  await untilServed(doomed, key, model)
  const { answer, goOn } = pausedAnswer()
  stack.upstream.answer(model, answer)
  const asked = post(doomed, key, { model, messages })
  await vi.waitFor(() => expect(stack.upstream.requestsFor(model)).toHaveLength(1))
  stack.redis.freeze()
  onTestFinished(() => stack.redis.thaw())
  goOn()
  expect((await asked).status).toBe(503)
  await doomed.kill()
  stack.redis.thaw()
  const booked = [...(await settledBooks(stack, view, organizationId)).values()]
  expect(booked).toMatchObject([{ costNano: 0n, chargeRows: 0 }])
})
