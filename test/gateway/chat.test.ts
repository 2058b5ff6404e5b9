import OpenAI from 'openai'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { findRub } from '#core/ledger/money'
import type { Customer } from '../support/customer.ts'
import type { Process } from '../support/processes.ts'
import { post, stackOfThisFile, untilServed } from '../support/stack.ts'
import { plain, streamed } from '../support/upstream.ts'

const stack = await stackOfThisFile()
let gateway: Process
let model: string
let customer: Customer
let client: OpenAI

beforeAll(async () => {
  model = await stack.createModel()
  customer = await stack.createCustomer()
  await stack.startWorker()
  gateway = await stack.startGateway()
  await untilServed(gateway, customer.key, model)
  client = new OpenAI({ baseURL: gateway.baseUrl, apiKey: customer.key, maxRetries: 0 })
})

const messages = [{ role: 'user' as const, content: 'Say hello' }]

async function bookedCost(requestId: string): Promise<bigint | undefined> {
  return vi.waitFor(async () => {
    const books = await stack.readBooks(customer.organizationId)
    expect(books.records.has(requestId)).toBe(true)
    return books.costs.get(requestId)
  })
}

describe('the official SDK', () => {
  test('completes a chat, and the cost in the header is the row in the ledger', async () => {
    const { data, response, request_id } = await client.chat.completions
      .create({ model, messages })
      .withResponse()
    expect(data.choices[0]?.message.content).toBe('Hello')
    expect(data.choices[0]?.finish_reason).toBe('stop')
    expect(data.model).toBe(model)
    expect(data.usage?.total_tokens).toBeGreaterThan(0)
    const cost = findRub(response.headers.get('x-gateway-cost-rub') ?? '')
    expect(cost).toBeGreaterThan(0n)
    expect(request_id).toBe(response.headers.get('x-gateway-request-id'))
    expect(await bookedCost(request_id ?? '')).toBe(cost)
  })

  test('streams a chat to its last chunk, whose cost is the row in the ledger', async () => {
    const { data: stream, request_id } = await client.chat.completions
      .create({ model, messages, stream: true, stream_options: { include_usage: true } })
      .withResponse()
    let text = ''
    let costRub = ''
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? ''
      if (chunk.usage) costRub = (chunk.usage as { cost_rub?: string }).cost_rub ?? ''
    }
    expect(text).toBe('Hello')
    expect(findRub(costRub)).toBeGreaterThan(0n)
    expect(await bookedCost(request_id ?? '')).toBe(findRub(costRub))
  })

  test('gets no usage chunk that it did not ask for, and is charged by it all the same', async () => {
    const { data: stream, request_id } = await client.chat.completions
      .create({ model, messages, stream: true })
      .withResponse()
    const chunks = []
    for await (const chunk of stream) chunks.push(chunk)
    expect(chunks.every((chunk) => chunk.choices.length === 1 && !('usage' in chunk))).toBe(true)
    const received = stack.upstream.requestsFor(model).at(-1)
    expect(received?.body.stream_options).toEqual({ include_usage: true })
    expect(await bookedCost(request_id ?? '')).toBeGreaterThan(0n)
  })

  test('gets the kind of failure as the type of its error', async () => {
    const stranger = new OpenAI({ baseURL: gateway.baseUrl, apiKey: 'sk-gateway-nonsense', maxRetries: 0 })
    await expect(stranger.chat.completions.create({ model, messages })).rejects.toThrow(
      OpenAI.AuthenticationError,
    )
    await expect(client.chat.completions.create({ model: 'test/none', messages })).rejects.toThrow(
      OpenAI.NotFoundError,
    )
  })
})

test('an answer carries every header of the contract, and none of the provider’s', async () => {
  stack.upstream.answer(model, {
    headers: { 'content-type': 'application/json', 'set-cookie': 'spy=1', 'openai-organization': 'theirs' },
    steps: [
      {
        send: JSON.stringify({
          id: 'x',
          object: 'chat.completion',
          created: 1,
          model: 'theirs',
          choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
          usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
        }),
      },
    ],
  })
  const { headers } = await post(gateway, customer.key, { model, messages })
  expect(headers.get('x-gateway-request-id')).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/)
  expect(headers.get('x-request-id')).toBe(headers.get('x-gateway-request-id'))
  for (const limit of ['rpm', 'tpm', 'requests', 'tokens'])
    for (const what of ['limit', 'remaining', 'reset'])
      expect(headers.get(`x-ratelimit-${what}-${limit}`), `${what} ${limit}`).toMatch(/^\d/)
  expect(headers.get('x-gateway-model')).toBe(model)
  expect(headers.get('x-gateway-attempts')).toBe('1')
  expect(headers.get('x-gateway-dropped-params')).toBe('')
  expect(Number(headers.get('x-gateway-overhead-ms'))).toBeGreaterThanOrEqual(0)
  expect(headers.get('x-gateway-cost-rub')).toBe('0.00009')
  expect(headers.get('set-cookie')).toBeNull()
  expect(headers.get('openai-organization')).toBeNull()
})

test('a stream carries them too, but for its cost, and asks proxies not to buffer it', async () => {
  const hello = streamed(['Hello'])
  const theirs = { 'set-cookie': 'spy=1', 'openai-organization': 'theirs', 'cache-control': 'max-age=60' }
  stack.upstream.answer(model, { ...hello, headers: { ...hello.headers, ...theirs } })
  const { headers } = await post(
    gateway,
    customer.key,
    { model, messages, stream: true },
    { 'accept-encoding': 'gzip, br' },
  )
  const own = [...headers.keys()].filter((name) => name.startsWith('x-gateway-'))
  expect(own.map((name) => name.slice('x-gateway-'.length))).toEqual([
    'attempts',
    'dropped-params',
    'model',
    'overhead-ms',
    'request-id',
  ])
  for (const limit of ['rpm', 'tpm', 'requests', 'tokens'])
    for (const what of ['limit', 'remaining', 'reset'])
      expect(headers.get(`x-ratelimit-${what}-${limit}`), `${what} ${limit}`).toMatch(/^\d/)
  expect(headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  expect(headers.get('cache-control')).toBe('no-cache')
  expect(headers.get('x-accel-buffering')).toBe('no')
  for (const name of ['content-encoding', 'set-cookie', 'openai-organization'])
    expect(headers.get(name), name).toBeNull()
})

test('headers of a client are only for the gateway: none reaches a provider, and an Idempotency-Key joins nothing', async () => {
  stack.upstream.answer(model, plain('Hello'))
  const before = stack.upstream.requestsFor(model).length
  const said = {
    'idempotency-key': 'the same',
    'openai-organization': 'ours',
    'openai-project': 'ours',
    'x-stainless-lang': 'js',
    'x-gateway-timeout-ms': '20000',
    cookie: 'a=b',
  }
  const answers = [await post(gateway, customer.key, { model, messages }, said)]
  answers.push(await post(gateway, customer.key, { model, messages }, said))
  const costs = answers.map(({ headers }) => bookedCost(headers.get('x-gateway-request-id') ?? ''))
  for (const cost of await Promise.all(costs)) expect(cost).toBeGreaterThan(0n)
  const received = stack.upstream.requestsFor(model).slice(before)
  expect(received).toHaveLength(2)
  for (const { headers } of received) {
    expect(Object.keys(headers).filter((name) => name in said || name === 'authorization')).toEqual([])
    expect(JSON.stringify(headers)).not.toContain(customer.key)
  }
})

test('the time that a provider takes is not the gateway’s: x-gateway-overhead-ms leaves it out', async () => {
  const waits = { waitMs: 400 }
  const chunk = (delta: object, finish: string | null) => ({
    event: {
      id: 'x',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'x',
      choices: [{ index: 0, delta, finish_reason: finish }],
    },
  })
  stack.upstream.answer(model, {
    headers: { 'content-type': 'text/event-stream' },
    // Status and headers first, as providers do that think for long.
    steps: [
      { send: ': thinking\n\n' },
      waits,
      chunk({ content: 'Hi' }, null),
      chunk({}, 'stop'),
      { event: '[DONE]' },
    ],
  })
  const { headers } = await post(gateway, customer.key, { model, messages, stream: true })
  expect(Number(headers.get('x-gateway-overhead-ms'))).toBeLessThan(300)
})
