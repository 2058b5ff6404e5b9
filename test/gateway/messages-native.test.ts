import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { findRub } from '#core/ledger/money'
import {
  anthropicApi,
  anthropicError,
  message,
  messageStream,
  startAnthropic,
  streamed,
  textBlock,
  thinkingBlock,
  toolUseBlock,
} from '../support/anthropic.ts'
import { prices } from '../support/billed-chat.ts'
import type { Customer } from '../support/customer.ts'
import { eventOf, framesOf } from '../support/event-frames.ts'
import { patient } from '../support/patient-gateway.ts'
import type { Process } from '../support/processes.ts'
import { readMetric } from '../support/read-metric.ts'
import { viewOfThisFile } from '../support/redis-view.ts'
import { createSealedProvider } from '../support/sealed-provider.ts'
import { settledBooks } from '../support/settled-books.ts'
import { type Way, ways } from '../support/spoken-turns.ts'
import { stackOfThisFile, untilServed } from '../support/stack.ts'
import { type Answer, type Script, startUpstream } from '../support/upstream.ts'

const stack = await stackOfThisFile()
const view = viewOfThisFile(stack.redis)
const anthropic = await startAnthropic()
const upstream = await startUpstream()
/** Of a later version, which knows more. */
const later = await startUpstream({ api: { ...anthropicApi, faultOf: () => undefined } })
afterAll(() => Promise.all([anthropic.stop(), upstream.stop(), later.stop()]))
let gateway: Process

beforeAll(async () => {
  await stack.startWorker()
  gateway = await stack.startGateway(patient)
})

type Fields = { readonly [field: string]: unknown }
type Block = Parameters<typeof message>[0][number]
type Served = {
  readonly id: string
  readonly model: string
  readonly customer: Customer
  readonly provider: string
}

const secret = `sk-ant-${randomBytes(8).toString('hex')}`
const hello = [{ role: 'user', content: 'Say hello' }]
const sentTo = ({ id }: Served) => anthropic.requestsFor(id)

async function serve(
  answers: readonly Answer[] = [],
  fields: object = {},
  server = anthropic,
): Promise<Served> {
  const id = `claude-opus-4-6-${randomBytes(4).toString('hex')}`
  const [first, ...others] = answers
  if (first !== undefined) server.answer(id, first, ...others)
  const at = { api: 'Anthropic', baseUrl: server.url, header: 'x-api-key', credential: secret } as const
  const provider = await createSealedProvider(stack, at)
  const backends = [{ name: 'main', provider, model: id, priority: 0, weight: 1 }]
  const model = await stack.createModel({ ...prices, backends, attempts: 2, ...fields })
  const customer = await stack.createCustomer()
  await untilServed(gateway, customer.key, model)
  return { id, model, customer, provider }
}

function send({ customer, model }: Served, body: object, headers: Record<string, string> = {}) {
  return fetch(`${gateway.baseUrl}/messages?beta=true`, {
    method: 'POST',
    headers: { 'x-api-key': customer.key, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model, max_tokens: 100, messages: hello, ...body }),
  })
}

const eventsOf = (text: string) => framesOf(text).map((frame) => eventOf<Fields & { type: string }>(frame))

/** The message as its client has it in the end. */
async function ask(served: Served, way: Way, body: object = {}, headers = {}): Promise<Fields> {
  const response = await send(served, { ...body, stream: way === 'streamed' }, headers)
  const text = await response.text()
  expect(response.status, text).toBe(200)
  if (way === 'whole') return JSON.parse(text)
  const events = eventsOf(text)
  expect(events.map(({ type }) => type).slice(-2)).toEqual(['message_delta', 'message_stop'])
  const start = events.find(({ type }) => type === 'message_start')?.message as Fields
  const end = events.findLast(({ type }) => type === 'message_delta')
  return { ...start, ...(end?.delta as Fields), usage: end?.usage }
}

/** In the way that the request asks for. */
const answering =
  (blocks: readonly Block[], usage: object = {}): Answer =>
  ({ body }) =>
    body.stream === true
      ? streamedBlocks(blocks, usage)
      : message(blocks, { usage: { input_tokens: 10, output_tokens: 5, ...usage } })

function streamedBlocks(blocks: readonly Block[], usage: object, extra: readonly Fields[] = []): Script {
  const { start, finish, stop, blockStart, blockStop } = messageStream
  return streamed([
    start({ usage: { input_tokens: 10, output_tokens: 1, ...usage } }),
    ...blocks.flatMap((block, index) =>
      block.type === 'thinking'
        ? messageStream.thinking(index, [String(block.thinking)], String(block.signature))
        : block.type === 'text'
          ? messageStream.text(index, [String(block.text)])
          : [blockStart(index, block), blockStop(index)],
    ),
    ...extra.map((event) => ({ send: `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n` })),
    finish('end_turn', usage),
    stop,
  ])
}

async function onlyCharge({ customer }: Served) {
  const [only] = (await settledBooks(stack, view, customer.organizationId)).values()
  return only ?? expect.fail('nothing was booked')
}

const classes = {
  input_tokens: 6,
  cache_read_input_tokens: 3,
  cache_creation_input_tokens: 2,
  output_tokens: 7,
  output_tokens_details: { thinking_tokens: 4 },
}

describe.each(ways)("a backend with Anthropic's API, %s", (way) => {
  test('gets the own request of the client, and its message leaves with our id, model and cost', async () => {
    const served = await serve([answering([textBlock('Hello')], classes)])
    const asked = {
      max_tokens: 100,
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      messages: hello,
      tools: [{ name: 'f', input_schema: { type: 'object' } }],
      metadata: { user_id: 'u' },
      thinking: { type: 'adaptive' },
    }
    const answer = await ask(served, way, asked)
    const [request] = sentTo(served)
    expect(request?.body).toEqual({ ...asked, model: served.id, stream: way === 'streamed' })
    expect(answer).toMatchObject({ model: served.model, stop_reason: 'end_turn' })
    expect(answer.id).toMatch(/^msg_[0-9a-f]{8}-/)
    const { cost_rub: cost, ...counts } = answer.usage as Fields
    expect(counts).toMatchObject(classes)
    const { costNano, record } = await onlyCharge(served)
    expect(findRub(String(cost))).toBe(costNano)
    expect(record).toMatchObject({
      apiFormat: 'messages',
      tokens: { input: 6, cachedInput: 3, cacheWrite: 2, output: 3, reasoning: 4 },
    })
  })

  test('gets versions, betas, fields, blocks and tools that are new, and so does the client', async () => {
    const block = { type: 'x_block', x_text: 'New', x_deep: [1, { a: null }] }
    const event = { type: 'x_event', x_value: 1.5 }
    const blocks = [textBlock('Hello'), block]
    const served = await serve(
      [
        ({ body }) =>
          body.stream === true ? streamedBlocks(blocks, {}, [event]) : message(blocks, { x_field: 1 }),
      ],
      {},
      later,
    )
    const asked = {
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }, block], x_message: 1 }],
      tools: [{ type: 'x_tool', name: 'x', x_setting: true }],
      x_parameter: { a: [1] },
    }
    const headers = {
      'anthropic-version': '2026-10-21',
      'anthropic-beta': 'x-beta-2026-11-01,context-management-2025-06-27',
    }
    const response = await send(
      served,
      { ...asked, stream: way === 'streamed' },
      { ...headers, 'x-own': 'secret', cookie: 'a=b' },
    )
    const text = await response.text()
    expect(response.status, text).toBe(200)
    expect(response.headers.get('x-gateway-dropped-params')).toBe('')
    const [request] = later.requestsFor(served.id)
    expect(request?.body).toMatchObject(asked)
    expect(request?.headers).toMatchObject({ ...headers, 'x-api-key': secret })
    expect(JSON.stringify(request?.headers)).not.toMatch(/x-own|cookie/)
    expect(text).toContain('"x_deep":[1,{"a":null}]')
    if (way === 'streamed') expect(eventsOf(text)).toContainEqual(event)
    else expect(JSON.parse(text)).toMatchObject({ x_field: 1, content: [{ text: 'Hello' }, block] })
  })

  test('is not sent what costs more than the price covers, unless its route requests it', async () => {
    const dear = {
      speed: 'fast',
      inference_geo: 'us',
      service_tier: 'standard_only',
      container: 'c',
      fallbacks: [{ model: 'claude-opus-5' }],
      mcp_servers: [{ type: 'url', url: 'https://example.com', name: 'm' }],
    }
    const search = { type: 'web_search_20250305', name: 'web_search' }
    const asked = {
      ...dear,
      system: [{ type: 'text', text: 'Long', cache_control: { type: 'ephemeral', ttl: '1h' } }],
      tools: [search],
      tool_choice: { type: 'tool', name: 'web_search' },
    }
    const served = await serve([answering([textBlock('Hello')])])
    const headers = { 'anthropic-beta': 'extended-cache-ttl-2025-04-11,fast-mode-2026-02-01' }
    const response = await send(served, { ...asked, stream: way === 'streamed' }, headers)
    await response.text()
    const [request] = sentTo(served)
    expect(request?.body).toEqual({
      model: served.id,
      max_tokens: 100,
      messages: hello,
      stream: way === 'streamed',
      system: [{ type: 'text', text: 'Long', cache_control: { type: 'ephemeral' } }],
    })
    expect(request?.headers['anthropic-beta']).toBeUndefined()
    expect(new Set(response.headers.get('x-gateway-dropped-params')?.split(/, ?/))).toEqual(
      new Set([
        ...Object.keys(dear),
        'tools.web_search_20250305',
        'tool_choice',
        'cache_control.ttl',
        'anthropic-beta',
      ]),
    )
    const parameters = { drop: ['metadata'], rename: {}, defaults: { tools: [search], inference_geo: 'us' } }
    const ruled = await serve([answering([textBlock('Hello')])], { parameters })
    await ask(ruled, way, { tools: [search], metadata: { user_id: 'u' } })
    expect(sentTo(ruled)[0]?.body).toMatchObject({ tools: [search], inference_geo: 'us' })
    expect(sentTo(ruled)[0]?.body.metadata).toBeUndefined()
  })

  test('gets its thinking back as it signed it, and only that of its account and organization', async () => {
    const thought = thinkingBlock(`A thought ${randomBytes(4).toString('hex')}`)
    const served = await serve([answering([thought, textBlock('Hello')])])
    const response = await send(served, { stream: way === 'streamed' })
    const text = await response.text()
    expect(text).not.toContain(thought.signature)
    const signature = /"signature":"([^"]+)"/.exec(text)?.[1]
    const content = [
      { ...thought, signature },
      { type: 'text', text: 'Hello' },
    ]
    const next = [...hello, { role: 'assistant', content }, { role: 'user', content: 'And now?' }]
    await ask(served, way, { messages: next })
    expect(sentTo(served).at(-1)?.body.messages).toMatchObject([{}, { content: [thought, {}] }, {}])
    const other = await serve([answering([textBlock('Hello')])])
    await untilServed(gateway, other.customer.key, served.model)
    await ask({ ...served, customer: other.customer }, way, { messages: next })
    await ask(other, way, { messages: next })
    await untilServed(gateway, served.customer.key, other.model)
    await ask({ ...other, customer: served.customer }, way, { messages: next })
    const damaged = next.map((turn) => JSON.parse(JSON.stringify(turn).replace(String(signature), 'gAAA')))
    await ask(served, way, { messages: damaged })
    for (const { body } of [...sentTo(served).slice(-2), ...sentTo(other)])
      expect(body.messages).toEqual([...hello, { role: 'assistant', content: [content[1]] }, next[2]])
  })

  test('that runs a tool unasked is counted', async () => {
    const call = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'q' } }
    const served = await serve([answering([call, textBlock('Hello')])])
    await ask(served, way)
    const series = `server_tools_run_total{provider="${served.provider}",tool="web_search"}`
    await vi.waitFor(async () => expect(await readMetric(gateway, series)).toBe(1))
  })

  test('is fallen back from to another API, and to from there', async () => {
    const served = await serve([
      anthropicError(529, 'overloaded_error', 'Overloaded'),
      answering([textBlock('Own')]),
    ])
    const chat = `gpt-4o-${randomBytes(4).toString('hex')}`
    const provider = await stack.createProvider({ baseUrl: upstream.url })
    const backend = (name: string, at: string, model: string, priority: number) =>
      ({ name, provider: at, model, priority, weight: 1 }) as const
    const backends = [backend('own', served.provider, served.id, 0), backend('other', provider, chat, 1)]
    const model = await stack.createModel({ ...prices, backends, attempts: 2 })
    await untilServed(gateway, served.customer.key, model)
    const answer = await ask({ ...served, model }, way)
    expect(answer).toMatchObject({ model, stop_reason: 'end_turn' })
    expect(upstream.requestsFor(chat)).toHaveLength(1)
  })
})

test('a call of a tool reaches the client piece by piece, with what it was called with', async () => {
  const steps = messageStream.toolUse(0, 'toolu_1', 'f', ['{"a":', '1}'])
  const served = await serve([
    streamed([messageStream.start({}), ...steps, messageStream.finish('tool_use'), messageStream.stop]),
  ])
  const events = eventsOf(await (await send(served, { stream: true })).text())
  const inputs = events.flatMap(({ delta }) => (delta as Fields | undefined)?.partial_json ?? [])
  expect(inputs).toEqual(['{"a":', '1}'])
  expect(events.map(({ type }) => type).filter((type) => type !== 'ping')).toEqual([
    'message_start',
    'content_block_start',
    'content_block_delta',
    'content_block_delta',
    'content_block_stop',
    'message_delta',
    'message_stop',
  ])
  const whole = await serve([message([toolUseBlock('toolu_1', 'f', { a: 1 })])])
  expect(await ask(whole, 'whole')).toMatchObject({
    content: [{ id: 'toolu_1', input: { a: 1 } }],
    stop_reason: 'tool_use',
  })
})

test('the credential of the provider is hidden, in one piece and in two', async () => {
  const half = Math.ceil(secret.length / 2)
  const pieces = ['It is ', secret.slice(0, half), secret.slice(half), '.']
  const served = await serve([
    streamed([
      messageStream.start({}),
      ...messageStream.text(0, pieces),
      messageStream.finish(),
      messageStream.stop,
    ]),
    message([textBlock(pieces.join(''))]),
  ])
  const text = await (await send(served, { stream: true })).text()
  const shown = eventsOf(text).flatMap(({ delta }) => (delta as Fields | undefined)?.text ?? [])
  expect(shown.join('')).not.toContain(secret)
  expect(shown.join('')).toMatch(/^It is .+\.$/)
  expect(JSON.stringify(await ask(served, 'whole'))).not.toContain(secret)
})

test("the provider's words about the request reach the client", async () => {
  const words = 'messages.0.content.0: the x_block is too long for this model'
  const served = await serve([anthropicError(400, 'invalid_request_error', words)])
  const response = await send(served, {})
  expect([response.status, await response.json()]).toMatchObject([
    400,
    { type: 'error', error: { message: words } },
  ])
})

test('a stream that breaks ends with an error, and what was delivered is charged', async () => {
  const { start, blockStart, blockDelta } = messageStream
  const pieces = ['Hello', ' there'].map((text) => blockDelta(0, { type: 'text_delta', text }))
  const served = await serve([streamed([start({}), blockStart(0, textBlock('')), ...pieces, { cut: 'fin' }])])
  const events = eventsOf(await (await send(served, { stream: true })).text())
  expect(events.at(-1)).toMatchObject({ type: 'error', error: { type: 'api_error' } })
  const { costNano, record } = await onlyCharge(served)
  expect(record).toMatchObject({ outcome: 'upstream_cut', apiFormat: 'messages' })
  expect(costNano).toBeGreaterThan(0n)
})

test('a limit above that of the model becomes that, and so does a budget to think with', async () => {
  const served = await serve([answering([textBlock('Hello')])])
  const thinking = { type: 'enabled', budget_tokens: 100_000 }
  await ask(served, 'whole', { max_tokens: 128_000, thinking })
  expect(sentTo(served)[0]?.body).toMatchObject({
    max_tokens: 16_384,
    thinking: { type: 'enabled', budget_tokens: 16_383 },
  })
})

test('a provider that continues beyond its limit is cut off, streamed and whole', async () => {
  const text = 'word '.repeat(4_000)
  const pieces = Array.from({ length: 400 }, () => 'word '.repeat(10))
  const { start, text: textOf, finish, stop } = messageStream
  const served = await serve([
    ({ body }) =>
      body.stream === true
        ? streamed([start({}), ...textOf(0, pieces), finish('end_turn', { output_tokens: 4_000 }), stop])
        : message([textBlock(text)], { usage: { input_tokens: 10, output_tokens: 4_000 } }),
  ])
  const events = eventsOf(await (await send(served, { stream: true, max_tokens: 50 })).text())
  const shown = events.flatMap(({ delta }) => (delta as Fields | undefined)?.text ?? []).join('')
  expect(shown.length).toBeLessThan(text.length / 2)
  expect(events.slice(-3)).toMatchObject([
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'max_tokens' } },
    { type: 'message_stop' },
  ])
  const whole = await ask(served, 'whole', { max_tokens: 50 })
  expect(whole.stop_reason).toBe('max_tokens')
  expect(JSON.stringify(whole.content).length).toBeLessThan(text.length / 2)
})

test('thinking that is lost in front of calls is not asked for again, by models that would reject that', async () => {
  const served = await serve([answering([textBlock('Hello')])])
  const content = [
    { type: 'thinking', thinking: 'Hm.', signature: 'of-somebody-else' },
    { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} },
  ]
  const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'done' }
  const response = await send(served, {
    max_tokens: 4_000,
    messages: [...hello, { role: 'assistant', content }, { role: 'user', content: [result] }],
    tools: [{ name: 'f', input_schema: { type: 'object' } }],
    thinking: { type: 'enabled', budget_tokens: 2_000 },
  })
  expect(response.status, await response.text()).toBe(200)
  expect(response.headers.get('x-gateway-dropped-params')).toBe('thinking')
  expect(sentTo(served)[0]?.body.thinking).toBeUndefined()
})

test('a strict client is served if its backend gets all of its request', async () => {
  const served = await serve([answering([textBlock('Hello')])])
  const strict = { 'x-gateway-strict-params': 'true' }
  expect((await send(served, { metadata: { user_id: 'u' } }, strict)).status).toBe(200)
  const rejected = await send(served, { speed: 'fast' }, strict)
  expect(rejected.status).toBe(400)
  expect(JSON.stringify(await rejected.json())).toContain('speed')
})

describe('the count of tokens', () => {
  const count = ({ customer, model }: Served) =>
    fetch(`${gateway.baseUrl}/messages/count_tokens?beta=true`, {
      method: 'POST',
      headers: {
        'x-api-key': customer.key,
        'content-type': 'application/json',
        'anthropic-version': '2023-06-01',
      },
      body: JSON.stringify({ model, messages: hello, system: 'Be brief.' }),
    })

  test('is that of the provider, asked with its credential, and is free', async () => {
    const served = await serve()
    const answer = await count(served)
    expect([answer.status, await answer.json()]).toEqual([200, { input_tokens: 10 }])
    expect(answer.headers.get('x-gateway-estimated')).toBeNull()
    const [request] = sentTo(served)
    expect(request).toMatchObject({ path: '/v1/messages/count_tokens', fault: undefined })
    expect(request?.body).toEqual({ model: served.id, messages: hello, system: 'Be brief.' })
    expect(request?.headers['x-api-key']).toBe(secret)
    expect(answer.headers.get('x-gateway-cost-rub')).toBeNull()
    await ask(served, 'whole')
    expect((await settledBooks(stack, view, served.customer.organizationId)).size).toBe(1)
  })

  test.each<[string, Script]>([
    ['rejects it', anthropicError(529, 'overloaded_error', 'Overloaded')],
    ['answers with something else', { steps: [{ send: '{"tokens":"many"}' }] }],
    ['cuts the connection', { raw: '' }],
    ['is silent', { silentMs: 'forever' }],
    [
      'sends its count too slowly',
      { steps: '{"input_tokens":10}'.split('').flatMap((send) => [{ send }, { waitMs: 500 }]) },
    ],
  ])('is estimated, and says so, if the provider %s', async (_what, script) => {
    const answer = await count(await serve([script]))
    expect([answer.status, answer.headers.get('x-gateway-estimated')]).toEqual([200, 'true'])
    const { input_tokens: tokens } = (await answer.json()) as Fields
    expect(tokens).toBeGreaterThan(5)
  })
})
