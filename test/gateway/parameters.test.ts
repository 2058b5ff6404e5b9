import { beforeAll, expect, test, vi } from 'vitest'
import type { QuirksName } from '#core/catalog/catalog-document'
import { putProvider } from '#core/catalog/catalog-store'
import type { Process } from '../support/processes.ts'
import { readMetric } from '../support/read-metric.ts'
import { inTestScope } from '../support/scope.ts'
import { post, stackOfThisFile, untilServed } from '../support/stack.ts'
import { streamed } from '../support/upstream.ts'

const stack = await stackOfThisFile()
let gateway: Process
let key: string
let organizationId: string

/** A backend at the scripted provider, taken for one of this kind. */
async function backendOf(kind: QuirksName, model: string, priority = 0) {
  await inTestScope(stack.database.pool, (client) =>
    putProvider(client, {
      name: `as-${kind}`,
      api: 'OpenAI',
      quirks: kind,
      baseUrl: stack.upstream.url,
      auth: { type: 'None' },
      headers: [],
      network: { http: true, privateAddresses: true },
    }),
  )
  return { name: kind, provider: `as-${kind}`, model, priority, weight: 1 }
}

beforeAll(async () => {
  await stack.startWorker()
  gateway = await stack.startGateway()
  const model = await stack.createModel()
  const customer = await stack.createCustomer()
  key = customer.key
  organizationId = customer.organizationId
  await untilServed(gateway, key, model)
})

const messages = [{ role: 'user', content: 'Say hello' }]

async function ask(body: object, headers: Readonly<Record<string, string>> = {}) {
  const response = await post(gateway, key, { messages, ...body }, headers)
  return { response, dropped: response.headers.get('x-gateway-dropped-params'), text: await response.text() }
}

test('what a provider does not take is not sent, named in a header, counted, and in the record', async () => {
  const model = await stack.createModel({ backends: [await backendOf('mistral', 'm-dropped')] })
  await untilServed(gateway, key, model)
  const counted = () => readMetric(gateway, 'params_dropped_total{provider="as-mistral",param="logit_bias"}')
  const before = await counted()
  const { response, dropped } = await ask({ model, temperature: 0.5, logit_bias: { 1: 2 }, mine: 1 })
  expect(response.status).toBe(200)
  expect(dropped).toBe('logit_bias,mine')
  expect(stack.upstream.requestsFor('m-dropped')[0]?.body).toEqual({
    model: 'm-dropped',
    messages,
    temperature: 0.5,
    stream: false,
  })
  expect(await counted()).toBe(before + 1)
  expect(await readMetric(gateway, 'params_dropped_total{provider="as-mistral",param="other"}')).toBe(1)
  const requestId = response.headers.get('x-request-id') ?? ''
  await vi.waitFor(
    async () => {
      const { records } = await stack.readBooks(organizationId)
      expect(records.get(requestId)?.record.droppedParameters).toEqual(['logit_bias', 'mine'])
    },
    { timeout: 10_000 },
  )
})

test('a request to a fallback is made from what the caller sent: what was dropped before is there again', async () => {
  const fallback = await stack.createModel({ backends: [await backendOf('generic', 'm-whole')] })
  const model = await stack.createModel({
    backends: [await backendOf('mistral', 'm-broken')],
    fallbacks: [fallback],
  })
  await untilServed(gateway, key, model)
  await untilServed(gateway, key, fallback)
  stack.upstream.answer('m-broken', { status: 500 })
  stack.upstream.answer('m-whole', streamed(['Hello']))
  const { response, dropped } = await ask({ model, user: 'u', max_completion_tokens: 50, stream: true })
  expect(response.headers.get('x-gateway-model')).toBe(fallback)
  expect(dropped).toBe('')
  expect(stack.upstream.requestsFor('m-broken')[0]?.body).toMatchObject({ max_tokens: 50 })
  expect(stack.upstream.requestsFor('m-broken')[0]?.body).not.toHaveProperty('user')
  expect(stack.upstream.requestsFor('m-whole')[0]?.body).toEqual({
    model: 'm-whole',
    messages,
    user: 'u',
    max_completion_tokens: 50,
    stream: true,
    stream_options: { include_usage: true },
  })
})

test('x-gateway-strict-params refuses what would be dropped, by name, before anything is held or asked', async () => {
  const model = await stack.createModel({ backends: [await backendOf('mistral', 'm-strict')] })
  await untilServed(gateway, key, model)
  const strict = { 'x-gateway-strict-params': 'true' }
  const { response, text } = await ask({ model, user: 'u', mine: 1 }, strict)
  expect(response.status).toBe(400)
  expect(JSON.parse(text).error).toMatchObject({
    type: 'invalid_request_error',
    code: 'unsupported_parameter',
    param: 'user',
    message: expect.stringContaining('"user", "mine"'),
    source: 'client',
  })
  expect(stack.upstream.requestsFor('m-strict')).toEqual([])
  expect((await ask({ model, temperature: 1 }, strict)).response.status).toBe(200)
})

test('a strict request goes only where nothing of it is lost', async () => {
  const fallback = await stack.createModel({ backends: [await backendOf('mistral', 'm-lossy-fallback')] })
  const model = await stack.createModel({
    backends: [await backendOf('mistral', 'm-lossy', 0), await backendOf('generic', 'm-lossless', 1)],
    fallbacks: [fallback],
    attempts: 2,
  })
  await untilServed(gateway, key, model)
  await untilServed(gateway, key, fallback)
  const strict = { 'x-gateway-strict-params': 'true' }
  const { response, dropped } = await ask({ model, user: 'u' }, strict)
  expect([response.status, dropped]).toEqual([200, ''])
  stack.upstream.answer('m-lossless', { status: 500 })
  expect((await ask({ model, user: 'u' }, strict)).response.status).toBe(502)
  expect(stack.upstream.requestsFor('m-lossy')).toEqual([])
  expect(stack.upstream.requestsFor('m-lossy-fallback')).toEqual([])
})

test('a request is charged whatever the names are that it makes up: what Postgres cannot keep is replaced', async () => {
  const model = await stack.createModel({ backends: [await backendOf('mistral', 'm-unprintable')] })
  await untilServed(gateway, key, model)
  const { response, dropped } = await ask({ model, 'nul\0': 1, 'half \ud83d': 1, пар: 1 })
  expect([response.status, dropped]).toEqual([200, 'nul?,half ?,???'])
  const requestId = response.headers.get('x-gateway-request-id') ?? ''
  await vi.waitFor(async () => {
    const { records, costs } = await stack.readBooks(organizationId)
    const names = records.get(requestId)?.record.droppedParameters
    expect(names).toEqual(['nul\uFFFD', 'half \uFFFD', 'пар'])
    expect(costs.get(requestId)).toBeGreaterThan(0n)
  })
})
