import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { putProvider } from '#core/catalog/catalog-store'
import { blockKey } from '#core/keys/key-store'
import { noTokens } from '#core/ledger/price'
import { openStream } from '../support/chat-stream.ts'
import type { Process } from '../support/processes.ts'
import { redisUrlOf } from '../support/redis-logins.ts'
import { viewOfThisFile } from '../support/redis-view.ts'
import { inTestScope } from '../support/scope.ts'
import { settledBooks } from '../support/settled-books.ts'
import { post, stackOfThisFile, untilServed } from '../support/stack.ts'
import { gateOfThisTest } from '../support/tcp-gate.ts'
import { goodStream, pausedAnswer, streamHeaders } from '../support/upstream.ts'

const stack = await stackOfThisFile()
const view = viewOfThisFile(stack.redis)
const messages = [{ role: 'user', content: 'Say hello' }]
const inputNano = 10_000n
const outputNano = 30_000n
/** Of the 10 and 5 tokens that the provider reports. */
const wholeCost = 10n * inputNano + 5n * outputNano

let worker: Process

beforeAll(async () => {
  worker = await stack.startWorker()
  // Redis knows every script from here on: one that it does not know yet is asked for twice.
  const { gateway, model, key, organizationId } = await served()
  await post(gateway, key, { model, messages })
  await settledBooks(stack, view, organizationId)
})

/** A swept hold remains until then. */
const shortlyMs = 8_000

/** A customer and a model, known to a gateway; only of this test. */
async function served({ redisPort = stack.redis.port, requestMs = 30_000 } = {}) {
  const gateway = await stack.startGateway({
    REDIS_URL: redisUrlOf.gateway(`redis://127.0.0.1:${redisPort}`),
  })
  const timeouts = { requestMs, firstByteMs: 5_000, streamIdleMs: 5_000 }
  const model = await stack.createModel({ inputNano, outputNano, timeouts })
  const customer = await stack.createCustomer()
  await untilServed(gateway, customer.key, model)
  return { gateway, model, ...customer }
}

/** Makes the provider say the first words of an answer; answers how to make it say the rest. */
function pauseAnswers(model: string): () => void {
  const { answer, goOn } = pausedAnswer()
  stack.upstream.answer(model, answer)
  return goOn
}

/** A model whose provider never shakes hands, so that no request ever leaves for it. */
async function createModelBehindSilentTls(): Promise<string> {
  const silent = createServer().listen(0, '127.0.0.1')
  await once(silent, 'listening')
  onTestFinished(() => void silent.close())
  const { port } = silent.address() as AddressInfo
  const provider = { name: 'silent', api: 'OpenAI', baseUrl: `https://127.0.0.1:${port}/v1` } as const
  const network = { http: false, privateAddresses: true }
  await inTestScope(stack.database.pool, (client) =>
    putProvider(client, { ...provider, auth: { type: 'None' }, headers: [], network }),
  )
  return stack.createModel({
    backends: [{ name: 'main', provider: provider.name, model: 'any', priority: 0, weight: 1 }],
    timeouts: { requestMs: shortlyMs, firstByteMs: 5_000, streamIdleMs: 5_000 },
  })
}

/** Waits for a renewal that reports delivered content; returns what a sweep would charge for it. */
async function untilRecordedAsDelivered(organizationId: string): Promise<bigint> {
  return vi.waitFor(async () => {
    const [{ costNano } = { costNano: 0n }] = await view.sweepable(organizationId)
    expect(costNano).toBeGreaterThan(0n)
    return costNano
  })
}

describe('a gateway that is killed', () => {
  test('before it called a provider charges nothing: its hold is swept', async () => {
    const { gateway, key, organizationId } = await served({ requestMs: shortlyMs })
    const model = await createModelBehindSilentTls()
    await untilServed(gateway, key, model)
    const asked = post(gateway, key, { model, messages }).catch(() => 'cut')
    await vi.waitFor(async () => expect((await view.money(organizationId)).held).toBeGreaterThan(0n))
    await gateway.kill()
    expect(await asked).toBe('cut')
    const [booked] = (await settledBooks(stack, view, organizationId)).values()
    expect(booked).toMatchObject({
      costNano: 0n,
      chargeRows: 0,
      record: { outcome: 'swept', usageSource: 'none' },
    })
  })

  test('after a provider has answered, before the first content, charges nothing', async () => {
    const { gateway, model, key, organizationId } = await served({ requestMs: shortlyMs })
    stack.upstream.answer(model, { headers: streamHeaders, steps: [goodStream.role, { stall: true }] })
    const asked = post(gateway, key, { model, messages, stream: true }).catch(() => 'cut')
    await vi.waitFor(async () =>
      expect(await view.sweepable(organizationId)).toMatchObject([{ record: { modelRan: model } }]),
    )
    await gateway.kill()
    expect(await asked).toBe('cut')
    const [booked] = (await settledBooks(stack, view, organizationId)).values()
    expect(booked).toMatchObject({ costNano: 0n, record: { outcome: 'swept', usageSource: 'none' } })
  })

  test('in the middle of a stream charges the prompt and what its lease had last recorded, once, estimated', async () => {
    const { gateway, model, key, organizationId } = await served({ requestMs: shortlyMs })
    pauseAnswers(model)
    const stream = await openStream(gateway, key, model)
    const recorded = await untilRecordedAsDelivered(organizationId)
    await gateway.kill()
    expect(await stream.ended).toBe('cut')

    const booked = (await settledBooks(stack, view, organizationId)).get(stream.requestId)
    expect(booked).toMatchObject({
      costNano: recorded,
      chargeRows: 1,
      record: { outcome: 'swept', usageSource: 'estimated', modelRan: model },
    })
    const tokens = booked?.record.tokens ?? noTokens
    expect(tokens.input).toBeGreaterThan(0)
    expect(tokens.output).toBeGreaterThan(0)
    expect(BigInt(tokens.input) * inputNano + BigInt(tokens.output) * outputNano).toBe(recorded)
  })

  test('after the charge was posted and before the last byte leaves that charge as it is, once', async () => {
    const gate = await gateOfThisTest(stack.redis.port)
    const { gateway, model, key, organizationId } = await served({ redisPort: gate.port })
    const goOn = pauseAnswers(model)
    const stream = await openStream(gateway, key, model)
    gate.holdAnswers()
    goOn()
    await vi.waitFor(async () => {
      const { records } = await stack.readBooks(organizationId)
      expect(records.get(stream.requestId)?.record.outcome).toBe('completed')
    })
    await gateway.kill()
    expect(await stream.ended).toBe('cut')
    expect(stream.text()).toContain('And more.')
    const booked = (await settledBooks(stack, view, organizationId)).get(stream.requestId)
    expect(booked).toMatchObject({
      costNano: wholeCost,
      chargeRows: 1,
      record: { outcome: 'completed', usageSource: 'provider' },
    })
  })
})

test('a frozen gateway that wakes after its hold was swept charges the difference, once', async () => {
  const { gateway, model, key, organizationId } = await served()
  const goOn = pauseAnswers(model)
  const stream = await openStream(gateway, key, model)
  const recorded = await untilRecordedAsDelivered(organizationId)
  gateway.freeze()
  onTestFinished(() => gateway.thaw())
  const swept = (await settledBooks(stack, view, organizationId, { held: 'rest' })).get(stream.requestId)
  expect(swept).toMatchObject({ costNano: recorded, chargeRows: 1, record: { outcome: 'swept' } })

  goOn()
  gateway.thaw()
  expect(await stream.ended).toBe('whole')
  await vi.waitFor(async () => {
    const { records } = await stack.readBooks(organizationId)
    expect(records.get(stream.requestId)?.record.outcome).toBe('completed')
  })
  const booked = (await settledBooks(stack, view, organizationId)).get(stream.requestId)
  expect(booked).toMatchObject({ costNano: wholeCost, chargeRows: 1 })
  const { rows } = await stack.database.pool.query(
    "select -amount as more from balance_ledger where ref_id = $1 and kind = 'adjust'",
    [stream.requestId],
  )
  expect(rows).toEqual([{ more: wholeCost - recorded }])
})

test('a key that is blocked during its stream gets the whole answer, pays for it, and is 403 from then on', async () => {
  const { gateway, model, key, keyId, organizationId } = await served()
  const goOn = pauseAnswers(model)
  const stream = await openStream(gateway, key, model)
  await inTestScope(stack.database.pool, (client) => blockKey(client, keyId, 'admin'))
  const refusedAnyway = { 'x-gateway-max-cost-rub': '0' }
  await vi.waitFor(async () =>
    expect((await post(gateway, key, { model, messages }, refusedAnyway)).status).toBe(403),
  )
  goOn()
  expect(await stream.ended).toBe('whole')
  const booked = (await settledBooks(stack, view, organizationId)).get(stream.requestId)
  expect(booked).toMatchObject({ costNano: wholeCost, chargeRows: 1 })
})

test('a gateway that keeps as many charges as it may admits nothing until Postgres has some of them', async () => {
  const gateway = await stack.startGateway({ BUFFERED_CHARGES_MAX: '1' })
  const model = await stack.createModel()
  const { key } = await stack.createCustomer()
  await untilServed(gateway, key, model)
  const statusOf = async () => (await post(gateway, key, { model, messages })).status
  worker.freeze()
  onTestFinished(() => worker.thaw())
  expect(await statusOf()).toBe(200)
  expect(await statusOf()).toBe(503)
  worker.thaw()
  await vi.waitFor(async () => expect(await statusOf()).toBe(200))
})
