import { randomBytes, randomUUID } from 'node:crypto'
import OpenAI from 'openai'
import { zodResponseFormat } from 'openai/helpers/zod'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { findRub } from '#core/ledger/money'
import {
  anthropicError,
  message,
  messageStream,
  startAnthropic,
  streamed,
  streamedMessage,
  textBlock,
  thinkingBlock,
  toolUseBlock,
} from '../support/anthropic.ts'
import type { ModelFields } from '../support/catalog.ts'
import type { Customer } from '../support/customer.ts'
import type { Process } from '../support/processes.ts'
import { viewOfThisFile } from '../support/redis-view.ts'
import { settledBooks } from '../support/settled-books.ts'
import { post, stackOfThisFile, untilServed } from '../support/stack.ts'
import type { Answer } from '../support/upstream.ts'

const stack = await stackOfThisFile()
const view = viewOfThisFile(stack.redis)
const anthropic = await startAnthropic()
afterAll(() => anthropic.stop())
let gateway: Process

beforeAll(async () => {
  await stack.startWorker()
  gateway = await stack.startGateway()
})

/** Another account with each one. */
const createAccount = () =>
  stack.createProvider({
    api: 'Anthropic',
    baseUrl: anthropic.url,
    headers: [{ name: 'x-api-key', value: 'key-of-these-tests' }],
  })
const prices = { inputNano: 10_000n, outputNano: 30_000n }
const messages = [{ role: 'user' as const, content: 'Say hello' }]

type Served = {
  readonly model: string
  readonly id: string
  readonly customer: Customer
  readonly client: OpenAI
}

/** A new customer of a new route to a new model of this generation, which answers so. */
async function serve(
  generation: string,
  answers: readonly Answer[] = [],
  fields: ModelFields = {},
): Promise<Served> {
  const id = `${generation}-${randomBytes(4).toString('hex')}`
  const provider = await createAccount()
  const backends = [{ name: 'main', provider, model: id, priority: 0, weight: 1 }]
  const model = await stack.createModel({ ...prices, backends, ...fields })
  const [first, ...others] = answers
  if (first !== undefined) anthropic.answer(id, first, ...others)
  const customer = await stack.createCustomer()
  await untilServed(gateway, customer.key, model)
  const client = new OpenAI({ baseURL: gateway.baseUrl, apiKey: customer.key, maxRetries: 0 })
  return { model, id, customer, client }
}

/** The bodies that the provider accepted, in order. */
const sentTo = ({ id }: Served) =>
  anthropic.requestsFor(id).map(({ body, fault }) => {
    expect(fault).toBeUndefined()
    return body
  })

async function costsOf({ customer }: Served): Promise<readonly bigint[]> {
  const books = await settledBooks(stack, view, customer.organizationId)
  return [...books.values()].map(({ costNano }) => costNano)
}

describe('the official SDK', () => {
  test('gets a whole answer, whose cost by the classes of its tokens is in header and ledger', async () => {
    const usage = {
      input_tokens: 5,
      cache_creation_input_tokens: 20,
      cache_read_input_tokens: 100,
      output_tokens: 12,
    }
    const counted = { usage: { ...usage, output_tokens_details: { thinking_tokens: 7 } } }
    const served = await serve('claude-opus-5', [message([textBlock('Hello')], counted)])
    const { data, response } = await served.client.chat.completions
      .create({ model: served.model, messages })
      .withResponse()
    expect(data.choices[0]?.message.content).toBe('Hello')
    expect(data.usage).toMatchObject({
      prompt_tokens: 125,
      completion_tokens: 12,
      prompt_tokens_details: { cached_tokens: 100, cache_write_tokens: 20 },
      completion_tokens_details: { reasoning_tokens: 7 },
    })
    const cost = 125n * prices.inputNano + 12n * prices.outputNano
    expect(findRub(response.headers.get('x-gateway-cost-rub') ?? '')).toBe(cost)
    expect(await costsOf(served)).toEqual([cost])
    expect(sentTo(served)).toMatchObject([{ max_tokens: 16_384, stream: false }])
  })

  test('streams one, whose cost is that of the provider’s last counts', async () => {
    const served = await serve('claude-haiku-4-5')
    const stream = served.client.chat.completions.stream({
      model: served.model,
      messages,
      reasoning_effort: 'low',
      stream_options: { include_usage: true },
    })
    const { choices, usage } = await stream.finalChatCompletion()
    expect(choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'Hello' } })
    expect(usage?.completion_tokens_details?.reasoning_tokens).toBe(7)
    expect(await costsOf(served)).toEqual([10n * prices.inputNano + 12n * prices.outputNano])
  })

  /** Beyond 2^53. */
  const weather = { id: '9007199254740993' }
  const functionOf = (name: string, called: string[]) => ({
    type: 'function' as const,
    function: {
      name,
      function: (text: string) => {
        called.push(text)
        return `result of ${name}`
      },
      description: name,
      parameters: { type: 'object', properties: { city: { type: 'string' } } },
    },
  })

  /** Two calls at once, then one more, then words. */
  const turns = [
    [
      thinkingBlock('Two at once.'),
      toolUseBlock('toolu_1', 'get_weather', { city: 'Kazan', id: JSON.rawJSON(weather.id) }),
      toolUseBlock('toolu_2', 'get_time', {}),
    ],
    [thinkingBlock(''), toolUseBlock('toolu_3', 'get_weather', { city: 'Ufa' })],
    [textBlock('Done')],
  ]
  const written = ['{}', `{"city":"Kazan","id":${weather.id}}`, '{"city":"Ufa"}'].toSorted()

  test.each([
    ['claude-opus-5', 'whole'],
    ['claude-opus-5', 'streamed'],
    ['claude-haiku-4-5', 'whole'],
    ['claude-haiku-4-5', 'streamed'],
  ])('runs tools with %s over three turns, though it keeps no signature, %s', async (generation, how) => {
    const answers = turns.map((blocks) => (how === 'streamed' ? streamedMessage(blocks) : message(blocks)))
    const served = await serve(generation, answers)
    const called: string[] = []
    const asked = {
      model: served.model,
      messages,
      max_tokens: 4_096,
      reasoning_effort: 'low' as const,
      tools: [functionOf('get_weather', called), functionOf('get_time', called)],
    }
    const { completions } = served.client.chat
    const runner =
      how === 'streamed' ? completions.runTools({ ...asked, stream: true }) : completions.runTools(asked)
    expect(await runner.finalContent()).toBe('Done')
    expect(called.toSorted()).toEqual(written)
    const [first, second] = sentTo(served)
    expect(first).toHaveProperty('thinking')
    expect(second?.messages).toMatchObject([
      {},
      { role: 'assistant', content: [{ id: 'toolu_1' }, { id: 'toolu_2' }] },
      { role: 'user', content: [{ tool_use_id: 'toolu_1' }, { tool_use_id: 'toolu_2' }] },
    ])
    expect(anthropic.requestsFor(served.id)[1]?.bodyText).toContain(`"id":${weather.id}`)
  })

  test.each(['whole', 'streamed'])(
    'gets signatures that come back byte for byte, hidden thinking too, %s',
    async (how) => {
      const answers = turns.map((blocks) => (how === 'streamed' ? streamedMessage(blocks) : message(blocks)))
      const served = await serve('claude-haiku-4-5', answers)
      const history: object[] = [...messages]
      const tools = [
        { type: 'function', function: { name: 'get_weather' } },
        { type: 'function', function: { name: 'get_time' } },
      ]
      for (const _ of turns) {
        const body = {
          model: served.model,
          messages: history,
          max_tokens: 4_096,
          reasoning_effort: 'low',
          tools,
        }
        const answer = await post(gateway, served.customer.key, { ...body, stream: how === 'streamed' })
        const text = await answer.text()
        expect(answer.status, text).toBe(200)
        const said = how === 'streamed' ? joined(text) : JSON.parse(text).choices[0].message
        history.push(said)
        for (const { id } of said.tool_calls ?? [])
          history.push({ role: 'tool', tool_call_id: id, content: 'ok' })
      }
      const last = sentTo(served).at(-1)
      const signatureOf = (text: string) => thinkingBlock(text).signature
      expect(last?.messages).toMatchObject([
        {},
        { content: [{ thinking: 'Two at once.', signature: signatureOf('Two at once.') }, {}, {}] },
        {},
        { content: [{ thinking: '', signature: signatureOf('') }, {}] },
        {},
      ])
      expect(last).toHaveProperty('thinking')
    },
  )

  test('parses an answer by a schema', async () => {
    const served = await serve('claude-opus-4-6', [message([textBlock('{"city":"Kazan"}')])])
    const { choices } = await served.client.chat.completions.parse({
      model: served.model,
      messages,
      response_format: zodResponseFormat(z.object({ city: z.string() }), 'place'),
    })
    expect(choices[0]?.message.parsed).toEqual({ city: 'Kazan' })
    expect(sentTo(served)).toMatchObject([{ output_config: { format: { type: 'json_schema' } } }])
  })

  test('leaves in the middle of arguments, and the answer is read to its end and charged by its counts', async () => {
    let leave = () => {}
    const left = new Promise<void>((resolve) => {
      leave = resolve
    })
    const { start, toolUse, finish, stop } = messageStream
    const [begin, part, ...rest] = toolUse(0, 'toolu_1', 'get_weather', ['{"city"', ':"Kazan"}'])
    if (begin === undefined || part === undefined) throw new Error('a call has a start and parts')
    const served = await serve('claude-haiku-4-5', [
      streamed([
        start({}),
        begin,
        part,
        { until: left },
        ...rest,
        finish('tool_use', { output_tokens: 33 }),
        stop,
      ]),
    ])
    const stream = await served.client.chat.completions.create({
      model: served.model,
      messages,
      stream: true,
    })
    for await (const { choices } of stream) if (choices[0]?.delta.tool_calls?.[0]?.function?.arguments) break
    leave()
    expect(await costsOf(served)).toEqual([10n * prices.inputNano + 33n * prices.outputNano])
  })
})

/** A streamed message as OpenAI's Python SDK joins its deltas: items of lists by their index, texts one after the other. */
function joined(text: string): { readonly tool_calls?: readonly { readonly id: string }[] } & object {
  const frames = text.split('\n\n').filter((frame) => frame.startsWith('data: {'))
  const deltas = frames.map((frame) => JSON.parse(frame.slice('data: '.length)).choices[0]?.delta ?? {})
  return deltas.reduce((known, added) => join(known, added), {})
}

function join(known: unknown, added: unknown, name = ''): unknown {
  if (known === undefined || known === null) return added
  if (typeof known === 'string' && typeof added === 'string') return name === 'type' ? known : known + added
  if (Array.isArray(known) && Array.isArray(added)) {
    const byIndex = new Map(known.map((item) => [item.index, item]))
    for (const item of added) byIndex.set(item.index, join(byIndex.get(item.index), item))
    return [...byIndex.values()]
  }
  if (typeof known !== 'object' || typeof added !== 'object' || added === null) return added ?? known
  const fields: Record<string, unknown> = { ...known }
  for (const [field, value] of Object.entries(added)) fields[field] = join(fields[field], value, field)
  return fields
}

describe('a fallback', () => {
  const history = (served: Served) => [
    ...messages,
    {
      role: 'assistant',
      content: 'Hello',
      reasoning_details: [{ type: 'reasoning.text', text: 'Hm', signature: thinkingBlock('Hm').signature }],
    },
    { role: 'user', content: `Go on, ${served.id}` },
  ]

  test('to another account gets the conversation without what the first one signed', async () => {
    const [first, second] = [await createAccount(), await createAccount()]
    const id = `claude-haiku-4-5-${randomBytes(4).toString('hex')}`
    const backends = [
      {
        name: 'first',
        provider: first,
        model: id,
        priority: 0,
        weight: 1,
      },
      { name: 'second', provider: second, model: `${id}-second`, priority: 1, weight: 1 },
    ]
    const served = { ...(await serve('claude-haiku-4-5', [], { backends, attempts: 2 })), id }
    anthropic.answer(id, anthropicError(529, 'overloaded_error', 'Overloaded'))
    const body = { model: served.model, messages: history(served) }
    expect((await post(gateway, served.customer.key, body)).status).toBe(200)
    const thoughts = (of: string) =>
      JSON.stringify(anthropic.requestsFor(of).map((request) => request.body)).includes('"thinking"')
    expect([thoughts(id), thoughts(`${id}-second`)]).toEqual([true, false])
  })

  test('to an OpenAI provider gets the same request in that form, and the client one answer', async () => {
    const openAi = await stack.createModel(prices)
    const served = await serve('claude-haiku-4-5', [], { fallbacks: [openAi] })
    await untilServed(gateway, served.customer.key, openAi)
    anthropic.answer(served.id, anthropicError(529, 'overloaded_error', 'Overloaded'))
    const answer = await post(gateway, served.customer.key, {
      model: served.model,
      messages: history(served),
    })
    expect(answer.headers.get('x-gateway-model')).toBe(openAi)
    expect(stack.upstream.requestsFor(openAi).at(-1)?.body.messages).toMatchObject([
      { content: 'Say hello' },
      { role: 'assistant', content: 'Hello' },
      { role: 'user' },
    ])
    expect(JSON.stringify(stack.upstream.requestsFor(openAi).at(-1)?.body)).not.toContain('signature')
  })
})

describe('a stream that goes wrong', () => {
  const { start, text, ping, finish, stop, error } = messageStream
  const said = text(0, ['Hel', 'lo'])

  async function read(served: Served): Promise<string> {
    const body = { model: served.model, messages, stream: true }
    return (await post(gateway, served.customer.key, body)).text()
  }

  test('before its first content is tried elsewhere, and after it ends with an error', async () => {
    const overloaded = error('overloaded_error', 'Overloaded')
    const late = await serve('claude-haiku-4-5', [streamed([start({}), ...said, overloaded])])
    expect(await read(late)).toMatch(/"content":"lo"[\s\S]*"error":\{[^\n]*"source":"upstream"/)
    const early = await serve(
      'claude-haiku-4-5',
      [
        streamed([start({}), error('api_error', 'Internal server error')]),
        streamed([start({}), ping, ...said, finish(), stop]),
      ],
      { attempts: 2 },
    )
    expect(await read(early)).toMatch(/"content":"lo"[\s\S]*\[DONE\]/)
  })

  test('is whole without its last event, and whatever events it has besides', async () => {
    const odd = { send: 'event: of_tomorrow\ndata: {"type":"of_tomorrow"}\n\n' }
    const served = await serve('claude-haiku-4-5', [streamed([start({}), odd, ...said, odd, finish()])])
    expect(await read(served)).toMatch(/"finish_reason":"stop"[\s\S]*\[DONE\]/)
  })

  test('without an end is an error, and charged as far as it came', async () => {
    const served = await serve('claude-haiku-4-5', [streamed([start({}), ...said, { cut: 'fin' }])])
    expect(await read(served)).toContain('"error"')
    expect((await costsOf(served))[0]).toBeGreaterThan(0n)
  })
})

describe('odd requests are answered, or rejected with the field, and never charged unanswered', () => {
  const call = (id: string, name = 'f', written = '{}') => ({
    id,
    type: 'function',
    function: { name, arguments: written },
  })
  const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'ok' })
  const called = (...calls: readonly object[]) => ({ role: 'assistant', content: null, tool_calls: calls })
  const tools = (count: number, name = 'f') =>
    Array.from({ length: count }, (_, at) => ({ type: 'function', function: { name: `${name}${at}` } }))
  const user = (...parts: readonly object[]) => ({ messages: [{ role: 'user', content: parts }] })
  const image = (url: string) => ({ type: 'image_url', image_url: { url } })

  test.each<readonly [what: string, body: object, param: string | null]>([
    ['200 tools', { tools: tools(200) }, null],
    ['names with dots and of 100 characters', { tools: tools(2, `a.${'b'.repeat(100)}`) }, null],
    [
      'two results for one call',
      { messages: [...messages, called(call('a')), result('a'), result('a')] },
      'messages[3].tool_call_id',
    ],
    ['a result without its call', { messages: [...messages, result('a')] }, 'messages[1].tool_call_id'],
    [
      'a call without its result',
      { messages: [...messages, called(call('a')), ...messages] },
      'messages[1].tool_calls[0]',
    ],
    [
      'arguments that are no object',
      { messages: [...messages, called(call('a', 'f', '[1]')), result('a')] },
      'messages[1].tool_calls[0].function.arguments',
    ],
    [
      'arguments that are nested too deep',
      {
        messages: [
          ...messages,
          called(call('a', 'f', `{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}`)),
          result('a'),
        ],
      },
      'messages[1].tool_calls[0].function.arguments',
    ],
    [
      'an assistant message last',
      { messages: [...messages, { role: 'assistant', content: 'Hel \n' }] },
      null,
    ],
    ['an assistant message first', { messages: [{ role: 'assistant', content: 'Hi' }, ...messages] }, null],
    [
      'a PDF as image',
      user(image('data:application/pdf;base64,JVBERg==')),
      'messages[0].content[0].image_url.url',
    ],
    ['invalid base64', user(image('data:image/png;base64,****')), 'messages[0].content[0].image_url.url'],
    [
      'an image by plain HTTP',
      user(image('http://example.com/a.png')),
      'messages[0].content[0].image_url.url',
    ],
    [
      'a file that is elsewhere',
      user({ type: 'file', file: { file_id: 'file-1' } }),
      'messages[0].content[0].file',
    ],
    [
      'sound',
      user({ type: 'input_audio', input_audio: { data: '', format: 'wav' } }),
      'messages[0].content[0].type',
    ],
    ['only empty texts', user({ type: 'text', text: ' ' }), null],
    ['a stop of white space', { stop: [' ', '\n'] }, null],
  ])('%s', async (_what, body, param) => {
    const served = await serve('claude-haiku-4-5')
    const answer = await post(gateway, served.customer.key, {
      model: served.model,
      messages,
      max_tokens: 64,
      ...body,
    })
    const json = (await answer.json()) as OpenAI.ChatCompletion & { readonly error?: object }
    if (param === null) {
      expect([answer.status, json.choices?.[0]?.message.content], JSON.stringify(json)).toEqual([
        200,
        'Hello',
      ])
      sentTo(served)
      return
    }
    expect(answer.status, JSON.stringify(json)).toBe(400)
    expect(json.error).toMatchObject({
      param,
      code: 'invalid_value',
      message: expect.stringContaining(param),
    })
    expect(anthropic.requestsFor(served.id)).toEqual([])
    expect(answer.headers.get('x-gateway-attempts')).toBe('0')
    expect(answer.headers.get('x-gateway-cost-rub')).toBe('0')
    expect((await stack.readBooks(served.customer.organizationId)).costs.size).toBe(0)
  })

  test('names that the API does not take come back as the caller wrote them', async () => {
    const name = `tools.${'x'.repeat(130)}.${randomUUID()}`
    const served = await serve('claude-haiku-4-5', [
      ({ body }) => {
        const [tool] = body.tools as readonly { readonly name: string }[]
        return message([toolUseBlock('toolu_1', tool?.name ?? '', {})])
      },
    ])
    const { choices } = await served.client.chat.completions.create({
      model: served.model,
      messages,
      tools: [{ type: 'function', function: { name } }],
    })
    expect(choices[0]?.message.tool_calls).toMatchObject([{ function: { name, arguments: '{}' } }])
  })
})
