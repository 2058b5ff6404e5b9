import OpenAI from 'openai'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { putProvider } from '#core/catalog/catalog-store'
import { findRub } from '#core/ledger/money'
import type { ModelFields } from '../support/catalog.ts'
import type { Customer } from '../support/customer.ts'
import type { Process } from '../support/processes.ts'
import { inTestScope } from '../support/scope.ts'
import { stackOfThisFile, untilServed } from '../support/stack.ts'
import { refusal, type Script } from '../support/upstream.ts'

const stack = await stackOfThisFile()
let gateway: Process
let customer: Customer
let client: OpenAI

beforeAll(async () => {
  await stack.startWorker()
  gateway = await stack.startGateway()
  customer = await stack.createCustomer()
  client = new OpenAI({ baseURL: gateway.baseUrl, apiKey: customer.key, maxRetries: 0 })
  for (const [name, quirks, requestsPerMinute] of [
    ['openai', 'openai'],
    ['yandexgpt', 'yandexgpt'],
    ['limited', 'yandexgpt', 1_200],
  ] as const)
    await inTestScope(stack.database.pool, (client) =>
      putProvider(client, {
        name,
        api: 'OpenAI',
        quirks,
        ...(requestsPerMinute === undefined ? {} : { requestsPerMinute }),
        baseUrl: stack.upstream.url,
        auth: { type: 'None' },
        headers: [],
        network: { http: true, privateAddresses: true },
      }),
    )
})

type Kind = 'scripted' | 'openai' | 'yandexgpt' | 'limited'

/** An embedding model that the gateway knows, at a provider of this kind; each item's vector is `vectorOf` it. */
async function served(kind: Kind = 'scripted', fields: ModelFields = {}): Promise<string> {
  const model = `test/e-${crypto.randomUUID()}`
  await stack.createModel({
    type: 'embedding',
    model,
    backends: [{ name: 'main', provider: kind, model, priority: 0, weight: 1 }],
    ...fields,
  })
  stack.upstream.answer(upstreamNameOf(kind, model), ({ body }) => answerTo(body))
  await untilServed(gateway, customer.key, model)
  return model
}

/** YandexGPT's names are addresses of models; without a folder in the provider's template the place stays. */
function upstreamNameOf(kind: Kind, model: string): string {
  return kind === 'yandexgpt' || kind === 'limited' ? `emb://{folder}/${model}` : model
}

function itemsOf({ input }: { readonly [field: string]: unknown }): readonly unknown[] {
  const isOne = !Array.isArray(input) || typeof input[0] === 'number'
  return isOne ? [input] : input
}

function vectorOf(item: unknown): readonly number[] {
  return [String(item).length, 0.5, -1]
}

function answerTo(body: { readonly [field: string]: unknown }, fields: object = {}): Script {
  const items = itemsOf(body)
  const data = items.map((item, index) => ({
    object: 'embedding',
    index,
    embedding: body.encoding_format === 'base64' ? base64Of(vectorOf(item)) : vectorOf(item),
  }))
  const usage = { prompt_tokens: 10 * items.length, total_tokens: 10 * items.length }
  return { steps: [{ send: JSON.stringify({ object: 'list', data, model: 'theirs', usage, ...fields }) }] }
}

function base64Of(numbers: readonly number[]): string {
  return Buffer.from(Float32Array.from(numbers).buffer).toString('base64')
}

/** What the provider was sent for a model. */
function sentFor(model: string, kind: Kind = 'scripted') {
  return stack.upstream.requestsFor(upstreamNameOf(kind, model)).map(({ body }) => body)
}

async function raw(body: object, headers: Readonly<Record<string, string>> = {}) {
  const response = await fetch(`${gateway.baseUrl}/embeddings`, {
    method: 'POST',
    headers: { authorization: `Bearer ${customer.key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as {
      readonly data: readonly { readonly index: number; readonly embedding: unknown }[]
      readonly error: { readonly [field: string]: unknown }
    },
  }
}

async function bookOf(requestId: string) {
  return vi.waitFor(async () => {
    const books = await stack.readBooks(customer.organizationId)
    const booked = books.records.get(requestId)
    expect(booked).toBeDefined()
    return { record: booked?.record, cost: books.costs.get(requestId) }
  })
}

describe('the official SDK', () => {
  test('gets embeddings, asking for base64 unasked, of a provider that knows floats only; the header is the ledger row', async () => {
    const model = await served()
    const { data, response, request_id } = await client.embeddings
      .create({ model, input: ['a', 'four'] })
      .withResponse()
    expect(data.data.map(({ embedding }) => embedding)).toEqual([vectorOf('a'), vectorOf('four')])
    expect(data.model).toBe(model)
    expect(data.usage).toEqual({ prompt_tokens: 20, total_tokens: 20 })
    expect(sentFor(model)[0]).toMatchObject({ model, input: ['a', 'four'], encoding_format: 'float' })
    expect(response.headers.get('x-gateway-model')).toBe(model)
    expect(response.headers.get('x-ratelimit-limit-rpm')).toBe('600')
    const cost = findRub(response.headers.get('x-gateway-cost-rub') ?? '')
    expect(cost).toBe(200_000n) // 20 tokens at 10 ₽ per 1M
    const booked = await bookOf(request_id ?? '')
    expect(booked.cost).toBe(cost)
    expect(booked.record).toMatchObject({
      endpoint: 'embeddings',
      modelRan: model,
      outcome: 'completed',
      stream: false,
      tokens: { input: 20, output: 0 },
      usageSource: 'provider',
    })
  })

  test('gets floats where it asks for them, and base64 as it comes from a provider that knows it', async () => {
    for (const kind of ['scripted', 'openai'] as const) {
      const model = await served(kind)
      for (const encoding_format of ['float', 'base64'] as const) {
        const { body } = await raw({ model, input: 'text', encoding_format })
        const vector = vectorOf('text')
        expect(body.data[0]?.embedding).toEqual(encoding_format === 'float' ? vector : base64Of(vector))
      }
      expect(sentFor(model).map(({ encoding_format }) => encoding_format)).toEqual(
        kind === 'openai' ? ['float', 'base64'] : ['float', 'float'],
      )
    }
  })
})

describe('tokens', () => {
  const hello = [9906, 1917] // "Hello world" in cl100k_base

  test('reach a provider that takes them as they are', async () => {
    const model = await served('openai')
    await raw({ model, input: hello })
    await raw({ model, input: [hello, [0]] })
    expect(sentFor(model).map(({ input }) => input)).toEqual([hello, [hello, [0]]])
  })

  test('become text for a provider that takes nothing else', async () => {
    const model = await served()
    await raw({ model, input: hello })
    await raw({ model, input: [hello, [0]] })
    expect(sentFor(model).map(({ input }) => input)).toEqual(['Hello world', ['Hello world', '!']])
  })

  test('that do not exist are 400, named, and cost nothing', async () => {
    const model = await served()
    const asked = await raw({ model, input: [hello, [200_000]] })
    expect([asked.status, asked.body.error.code, asked.body.error.param]).toEqual([
      400,
      'invalid_value',
      'input[1]',
    ])
    expect((await raw({ model, input: [200_000] })).body.error.param).toBe('input')
    expect(sentFor(model)).toEqual([])
  })
})

describe('more items than a provider takes at once', () => {
  test('go in several calls; the answer is in the order asked, and usage is that of all', async () => {
    const model = await served() // 256 in a call
    const input = Array.from({ length: 600 }, (_, n) => 'x'.repeat(n + 1))
    const { data, usage } = await client.embeddings.create({ model, input })
    expect(data.map(({ index, embedding }) => [index, embedding[0]])).toEqual(
      input.map((item, index) => [index, item.length]),
    )
    expect(usage.prompt_tokens).toBe(6000)
    expect(sentFor(model).map((body) => itemsOf(body).length)).toEqual([256, 256, 88])
  })

  test('one by one where that is all it takes, four at a time at most', async () => {
    const model = await served('yandexgpt')
    let running = 0
    let most = 0
    stack.upstream.answer(upstreamNameOf('yandexgpt', model), ({ body }) => {
      running += 1
      most = Math.max(most, running)
      setTimeout(() => (running -= 1), 40)
      return { silentMs: 50, ...answerTo(body) }
    })
    const input = Array.from({ length: 10 }, (_, n) => 'x'.repeat(n + 1))
    const { data } = await client.embeddings.create({ model, input })
    expect(data.map(({ embedding }) => embedding[0])).toEqual(input.map(({ length }) => length))
    expect(most).toBe(4)
    expect(sentFor(model, 'yandexgpt').every(({ input: sent }) => typeof sent === 'string')).toBe(true)
  })

  test('wait for the provider’s limit one by one, and are not begun where their time is too short', async () => {
    const spare = await served()
    const model = await served('limited', { fallbacks: [spare] })
    const alone = await served('limited', {
      timeouts: { requestMs: 5_000, firstByteMs: 1_000, streamIdleMs: 1_000 },
    })
    const many = await raw({ model: alone, input: Array(1_000).fill('x') })
    expect([many.status, many.body.error.code]).toEqual([503, 'upstream_overloaded'])
    expect(many.body.error.message).toContain('up to 41 fit.') // in 4.5 s, half of 18 a second
    const told = ['retry-after', 'x-should-retry', 'x-gateway-attempts'].map((name) => many.headers.get(name))
    expect(told).toEqual([null, 'false', '0'])
    expect(sentFor(alone, 'limited')).toEqual([])
    const startedAtMs = performance.now()
    const few = await raw({ model, input: Array(70).fill('x') }) // 60 at once, 18 a second
    expect(few.body.data).toHaveLength(70)
    expect(performance.now() - startedAtMs).toBeGreaterThan(450)
    expect(sentFor(model, 'limited')).toHaveLength(70)
    const elsewhere = await raw({ model, input: Array(8_000).fill('x') })
    expect(elsewhere.headers.get('x-gateway-model')).toBe(spare)
    expect(sentFor(model, 'limited')).toHaveLength(70)
  })

  test('fail together when one call fails, and nothing is charged', async () => {
    const model = await served()
    stack.upstream.answer(model, ({ body }) =>
      itemsOf(body).includes('bad') ? refusal(500, 'boom') : answerTo(body),
    )
    const input = [...Array<string>(300).fill('good'), 'bad', ...Array<string>(600).fill('good')]
    const asked = await raw({ model, input })
    expect([asked.status, asked.body.error.code]).toEqual([502, 'upstream_error'])
    const booked = await bookOf(asked.headers.get('x-gateway-request-id') ?? '')
    expect(booked).toMatchObject({ cost: undefined, record: { outcome: 'failed', endpoint: 'embeddings' } })
  })

  test('are asked for again at the fallback when one call fails', async () => {
    const spare = await served()
    const model = await served('scripted', { fallbacks: [spare] })
    stack.upstream.answer(model, ({ body }) =>
      itemsOf(body).length < 256 ? refusal(500, 'boom') : answerTo(body),
    )
    const asked = await raw({ model, input: Array(300).fill('x') })
    expect(asked.body.data).toHaveLength(300)
    expect(asked.headers.get('x-gateway-model')).toBe(spare)
    const { record, cost } = await bookOf(asked.headers.get('x-gateway-request-id') ?? '')
    expect(record?.attempts.map(({ result }) => result)).toEqual(['status_500', 'answered'])
    expect(cost).toBe(30_000_000n) // the fallback's 3000 tokens, once
  })
})

describe('a request', () => {
  test('for nothing, of a wrong type or for a model of another kind is 400 before any provider is called', async () => {
    const model = await served()
    for (const [body, param] of [
      [{ input: [] }, 'input'],
      [{ input: '' }, 'input'],
      [{ input: ['a', ''] }, 'input[1]'],
      [{ input: [[]] }, 'input[0]'],
      [{ input: [['a']] }, 'input[0][0]'],
      [{ input: { text: 'a' } }, 'input'],
      [{}, 'input'],
      [{ input: 'a', encoding_format: 'int8' }, 'encoding_format'],
      [{ input: 'a', dimensions: 0.5 }, 'dimensions'],
    ] as const) {
      const { status, body: answer } = await raw({ model, ...body })
      expect([status, answer.error.code, answer.error.param], JSON.stringify(body)).toEqual([
        400,
        'invalid_value',
        param,
      ])
    }
    expect(sentFor(model)).toEqual([])
    const chat = await stack.createModel()
    await untilServed(gateway, customer.key, chat)
    const wrong = await raw({ model: chat, input: 'a' })
    expect([wrong.status, wrong.body.error.code]).toEqual([400, 'wrong_model_type'])
    await expect(client.embeddings.create({ model: 'test/none', input: 'a' })).rejects.toThrow(
      OpenAI.NotFoundError,
    )
  })

  test('keeps dimensions and provider fields where they are taken; dropped ones are named, or rejected when strict', async () => {
    const fields = { input: 'a', dimensions: 3, user: 'u' }
    const withMore = { ...fields, input_type: 'query' }
    const open = await served('openai')
    expect((await raw({ model: open, ...fields })).headers.get('x-gateway-dropped-params')).toBe('')
    expect(sentFor(open)[0]).toMatchObject({ dimensions: 3, user: 'u' })
    const closed = await served('yandexgpt')
    const dropped = await raw({ model: closed, ...withMore })
    expect(dropped.headers.get('x-gateway-dropped-params')).toBe('input_type')
    expect(sentFor(closed, 'yandexgpt')[0]).toMatchObject({ dimensions: 3, user: 'u' })
    expect(sentFor(closed, 'yandexgpt')[0]).not.toHaveProperty('input_type')
    const strict = await raw({ model: closed, ...withMore }, { 'x-gateway-strict-params': 'true' })
    expect([strict.status, strict.body.error.code]).toEqual([400, 'unsupported_parameter'])
  })

  test('holds what its input may cost, and no output', async () => {
    const model = await served()
    const body = { model, input: 'x'.repeat(4000) }
    const cap = (nano: number) => raw(body, { 'x-gateway-max-cost-rub': (nano / 1e9).toFixed(9) })
    const most = (JSON.stringify(body).length + 8) * 10_000 // a token per byte, at 10 ₽ per 1M
    const { error } = (await cap(most - 1)).body
    expect(error.code).toBe('request_exceeds_max_cost')
    expect(error.message).not.toContain('max_tokens')
    expect((await cap(most)).status).toBe(200)
  })
})

describe('a provider', () => {
  test('that finds the input too long is 400 that names the input', async () => {
    const model = await served()
    const said = "This model's maximum context length is 8192 tokens, however you requested 8469 tokens"
    stack.upstream.answer(model, refusal(400, said))
    const { body } = await raw({ model, input: 'x' })
    expect([body.error.code, body.error.param]).toEqual(['context_length_exceeded', 'input'])
  })

  test("without usage is charged by the gateway's own count, and usage shows it", async () => {
    const model = await served()
    stack.upstream.answer(model, ({ body }) => answerTo(body, { usage: undefined }))
    const { data, request_id } = await client.embeddings
      .create({ model, input: ['Hello world', 'Hello'] })
      .withResponse()
    expect(data.usage).toEqual({ prompt_tokens: 3, total_tokens: 3 })
    expect((await bookOf(request_id ?? '')).record).toMatchObject({
      usageSource: 'estimated',
      tokens: { input: 3 },
    })
  })

  test.each([
    ['too few embeddings', { data: [{ index: 0, embedding: [1] }] }],
    ['no numbers', { data: [{ embedding: ['a'] }, { embedding: [1] }] }],
    ['an error with status 200', { error: { message: 'boom' } }],
  ])('that answers %s is a failed one: 502, nothing charged', async (_what, fields) => {
    const model = await served()
    stack.upstream.answer(model, ({ body }) => answerTo(body, fields))
    const asked = await raw({ model, input: ['a', 'b'] })
    expect([asked.status, asked.body.error.code]).toEqual([502, 'upstream_error'])
    expect((await bookOf(asked.headers.get('x-gateway-request-id') ?? '')).cost).toBeUndefined()
  })
})

describe('a client that leaves while embeddings are made in several calls', () => {
  /** Its bill, once it is posted. */
  const billOf = (model: string) =>
    vi.waitFor(
      async () => {
        const { records, costs } = await stack.readBooks(customer.organizationId)
        const [id, booked] = [...records].find(([, { record }]) => record.modelAsked === model) ?? []
        expect(booked).toBeDefined()
        return { ...booked?.record, cost: costs.get(id ?? '') }
      },
      { timeout: 10_000, interval: 20 },
    )

  /** Leaves once the provider has `count` calls. */
  async function leaveAt(count: number, model: string, kind: Kind, inputCount: number): Promise<void> {
    const left = new AbortController()
    const asked = client.embeddings
      .create({ model, input: Array(inputCount).fill('Hello world') }, { signal: left.signal })
      .catch(() => undefined)
    await vi.waitFor(() => expect(sentFor(model, kind)).toHaveLength(count))
    left.abort()
    await asked
  }

  /** Eight calls of one input each, of which four are answered at once, and the others as `others` has them. */
  async function leaveMidway(others: (call: number) => object): Promise<string> {
    const model = await served('yandexgpt', {
      timeouts: { requestMs: 3_000, firstByteMs: 3_000, streamIdleMs: 3_000 },
    })
    let asked = 0
    stack.upstream.answer(upstreamNameOf('yandexgpt', model), ({ body }) => {
      const call = asked++
      return { ...answerTo(body), ...(call < 4 ? {} : others(call)) }
    })
    await leaveAt(8, model, 'yandexgpt', 2_000)
    return model
  }

  test('pays for the calls that were sent by their usage; no other is sent', async () => {
    const model = await leaveMidway(() => ({ silentMs: 500 }))
    expect(await billOf(model)).toMatchObject({
      outcome: 'client_gone',
      usageSource: 'provider',
      tokens: { input: 80, output: 0 },
    })
    expect(sentFor(model, 'yandexgpt')).toHaveLength(8)
  })

  test('pays nothing for a call that fails, and an estimate for one that is never answered', async () => {
    const model = await leaveMidway((call) =>
      call < 6
        ? { silentMs: 500 }
        : call === 6
          ? { silentMs: 500, ...refusal(500, 'No') }
          : { silentMs: 'forever' },
    )
    expect(await billOf(model)).toMatchObject({
      outcome: 'client_gone',
      usageSource: 'estimated',
      tokens: { input: 60 + 2, output: 0 },
    })
  })

  test('pays once, for what was counted and for the estimate of the rest', async () => {
    const model = await served('scripted', {
      timeouts: { requestMs: 2_000, firstByteMs: 2_000, streamIdleMs: 2_000 },
    })
    stack.upstream.answer(model, ({ body }) => ({
      steps: [{ send: '{"object":"list",' }, { stall: true }],
      ...(itemsOf(body).length < 256 ? answerTo(body) : {}),
    }))
    await leaveAt(2, model, 'scripted', 300)
    const estimated = 256 * 2
    const counted = 44 * 10
    expect(await billOf(model)).toMatchObject({
      outcome: 'client_gone',
      tokens: { input: estimated + counted, output: 0 },
      cost: BigInt(estimated + counted) * 10_000n,
    })
  })
})
