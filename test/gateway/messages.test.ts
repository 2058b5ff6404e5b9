import Anthropic from '@anthropic-ai/sdk'
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod'
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod'
import type { MessageCreateParamsNonStreaming, MessageParam } from '@anthropic-ai/sdk/resources/messages'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { findRub } from '#core/ledger/money'
import { prices } from '../support/billed-chat.ts'
import { expectMessage, expectMessageStream, readMessageEvents } from '../support/message-events.ts'
import { servedCustomersOfThisFile } from '../support/served-customers.ts'
import { settledBooks } from '../support/settled-books.ts'
import { everyKindAndWay, type SpokenTurn, type Way } from '../support/spoken-turns.ts'
import { untilServed } from '../support/stack.ts'
import { goodStream, plain, type Script, streamHeaders } from '../support/upstream.ts'

const { stack, view, gateway, clientOf, serve } = await servedCustomersOfThisFile(
  (gateway, apiKey) => new Anthropic({ baseURL: new URL(gateway.baseUrl).origin, apiKey, maxRetries: 0 }),
)

type Fields = { readonly [field: string]: unknown }
type Served = Awaited<ReturnType<typeof serve>>
type Ask = Omit<MessageCreateParamsNonStreaming, 'model' | 'max_tokens'> & { readonly max_tokens?: number }

/** The message of one request, by either way of the SDK. */
async function ask({ client, model }: Pick<Served, 'client' | 'model'>, way: Way, body: Ask) {
  const asked = { model, max_tokens: 4_096, ...body }
  if (way === 'streamed') return client.messages.stream(asked).finalMessage()
  const message = await client.messages.create(asked)
  expectMessage(JSON.parse(JSON.stringify(message)))
  return message
}

function send(
  { customer, model }: Served,
  body: object,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${gateway().baseUrl}/messages?beta=true`, {
    method: 'POST',
    headers: { 'x-api-key': customer.key, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model, max_tokens: 100, ...body }),
  })
}

const messages = [{ role: 'user', content: 'Say hello' }] satisfies MessageParam[]
const lookUp = { name: 'get_weather', input_schema: { type: 'object' as const } }

describe.each(everyKindAndWay)("Anthropic's SDK, with a backend of %s, %s", (kind, way) => {
  test('reads words, and what they cost', async () => {
    const served = await serve(kind, [{ text: 'Hello' }])
    const message = await ask(served, way, { messages, system: 'Be brief.', max_tokens: 100 })
    expect(message).toMatchObject({
      content: [{ type: 'text', text: 'Hello' }],
      stop_reason: 'end_turn',
      model: served.model,
    })
    const { input_tokens: input, cache_read_input_tokens: cached, output_tokens: output } = message.usage
    expect([input + (cached ?? 0), output]).toEqual([10, 5])
    expect(JSON.stringify(served.sent())).toContain('Be brief.')
  })

  test('runs tools over three turns, two at once in the first, and returns what it thought', async () => {
    const served = await serve(kind, [
      {
        thought: 'Two at once.',
        text: 'I look.',
        calls: [
          { id: 'toolu_1', name: 'get_weather', arguments: { city: 'Kazan' } },
          { id: 'toolu_2', name: 'get_weather', arguments: { city: 'Ufa' } },
        ],
      },
      { thought: 'One more.', calls: [{ id: 'toolu_3', name: 'get_weather', arguments: {} }] },
      { text: 'Done' },
    ])
    const history: MessageParam[] = [...messages]
    const called: unknown[] = []
    let last = await ask(served, way, {
      messages: history,
      tools: [lookUp],
      output_config: { effort: 'low' },
    })
    while (last.stop_reason === 'tool_use') {
      const calls = last.content.filter((block) => block.type === 'tool_use')
      called.push(...calls.map(({ input }) => input))
      history.push(
        { role: 'assistant', content: last.content as MessageParam['content'] },
        {
          role: 'user',
          content: calls.map(({ id }) => ({
            type: 'tool_result',
            tool_use_id: id,
            content: `result of ${id}`,
          })),
        },
      )
      last = await ask(served, way, { messages: history, tools: [lookUp], output_config: { effort: 'low' } })
    }
    expect(last.content).toMatchObject([{ type: 'text', text: 'Done' }])
    expect(called).toEqual([{ city: 'Kazan' }, { city: 'Ufa' }, {}])
    const body = JSON.stringify(served.sent().at(-1))
    for (const id of ['toolu_1', 'toolu_2', 'toolu_3']) expect(body).toContain(`result of ${id}`)
    if (kind === 'Anthropic') expect(body).toContain('"thinking":"Two at once."')
    if (kind === 'Gemini') expect(body.match(/thoughtSignature/g)?.length).toBe(2)
  })

  test('learns that an answer is not whole', async () => {
    const served = await serve(kind, [{ text: 'Hel', end: 'length' }])
    const message = await ask(served, way, { messages })
    expect(message).toMatchObject({ stop_reason: 'max_tokens', content: [{ text: 'Hel' }] })
  })

  test('learns that the model declined', async () => {
    const served = await serve(kind, [{ refusal: 'I cannot.' }])
    expect(await ask(served, way, { messages })).toMatchObject({ stop_reason: 'refusal' })
  })
})

/** The header is the SDK's own, if there is none. */
const versions = [undefined, '2023-06-01'] as const

const ofVersion = ({ client }: Served, version: (typeof versions)[number]) =>
  client.withOptions({ defaultHeaders: version === undefined ? {} : { 'anthropic-version': version } })

describe.each(versions)("Anthropic's SDK, version %s", (version) => {
  test('runs its tools', async () => {
    const served = await serve('OpenAI', [
      { calls: [{ id: 'call_1', name: 'add', arguments: { a: 1, b: 2 } }] },
      { text: '3' },
    ])
    const add = betaZodTool({
      name: 'add',
      description: 'Adds.',
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      run: ({ a, b }) => String(a + b),
    })
    const message = await ofVersion(served, version).beta.messages.toolRunner({
      model: served.model,
      max_tokens: 100,
      messages,
      tools: [add],
    })
    expect(message.content).toMatchObject([{ type: 'text', text: '3' }])
    expect(JSON.stringify(served.sent().at(-1))).toContain('"content":"3"')
  })

  test('parses an answer by a schema', async () => {
    const served = await serve('OpenAI', [{ text: '{"city":"Kazan"}' }])
    const { parsed_output: parsed } = await ofVersion(served, version).messages.parse({
      model: served.model,
      max_tokens: 100,
      messages,
      output_config: { format: zodOutputFormat(z.object({ city: z.string() })) },
    })
    expect(parsed).toEqual({ city: 'Kazan' })
  })
})

describe("Anthropic's SDK", () => {
  test('lists models, page by page', async () => {
    const served = await serve('OpenAI')
    const listed = []
    for await (const model of served.client.models.list({ limit: 1 })) listed.push(model)
    const found = listed.find(({ id }) => id === served.model)
    expect(found).toMatchObject({ type: 'model', display_name: expect.any(String) })
    expect(await served.client.models.retrieve(served.model)).toEqual(found)
  })

  const places = ['messages', 'beta.messages'] as const

  test.each(versions.flatMap((version) => places.map((place) => [place, version] as const)))(
    'reads streams, counts and lists by %s, version %s',
    async (place, version) => {
      const served = await serve('OpenAI', [{ thought: 'A word.', text: 'Hello' }])
      const { model } = served
      const client = ofVersion(served, version)
      // Both have the same methods, of different types.
      const api = place === 'messages' ? client : (client.beta as unknown as Anthropic)
      const stream = api.messages.stream({ model, max_tokens: 100, messages })
      const texts: string[] = []
      stream.on('text', (text) => texts.push(text))
      const { content, stop_reason: reason } = await stream.finalMessage()
      expect([texts.join(''), reason]).toEqual(['Hello', 'end_turn'])
      expect(content).toMatchObject([{ type: 'thinking', thinking: 'A word.' }, { type: 'text' }])
      const { input_tokens: count } = await api.messages.countTokens({ model, messages })
      expect(count).toBeGreaterThan(0)
      const { data } = await api.models.list({ limit: 1_000 })
      expect(data.map(({ id }) => id)).toContain(model)
      expect(served.sent()).toHaveLength(1)
    },
  )

  test.each<[string, SpokenTurn, Parameters<typeof serve>[2], number, string, number]>([
    ['no money', { text: 'Hello' }, { balanceNano: 0n }, 402, 'PaymentRequiredError', 1],
    ['a failed provider', { status: 500 }, {}, 502, 'InternalServerError', 1],
    ['an overloaded provider', { status: 429 }, {}, 503, 'ServiceUnavailableError', 2],
  ])('repeats on %s only what may succeed, and raises', async (_, turn, options, status, name, count) => {
    const served = await serve('OpenAI', [turn], options)
    let requests = 0
    const counting: typeof fetch = (...request) => {
      requests += 1
      return fetch(...request)
    }
    const client = served.client.withOptions({ maxRetries: 1, fetch: counting })
    const error = await ask({ ...served, client }, 'whole', { messages }).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ status })
    expect([(error as object).constructor.name, requests]).toEqual([name, count])
  })
})

test.each([
  ['vLLM', 'stop_reason'],
  ['SGLang', 'matched_stop'],
])(
  'a stop sequence that ended the response is named where the provider tells it, as %s does',
  async (_, field) => {
    const { role, say, done } = goodStream
    const ending = (told: unknown) => ({ finish_reason: 'stop', [field]: told })
    const whole = (told: unknown) => {
      const reply = { role: 'assistant', content: 'One, two', refusal: null }
      return plain('', { choices: [{ index: 0, message: reply, logprobs: null, ...ending(told) }] })
    }
    const streamOf = (told: unknown): Script => ({
      headers: streamHeaders,
      steps: [role, say('One, two'), goodStream.delta({}, ending(told)), goodStream.usage(), done],
    })
    // 128009 is the token that ends every text of some models.
    const told = ['three', 'three', 'unasked', 128_009]
    const served = await serve('OpenAI')
    const [first = whole(null), ...others] = [...told.map(whole), ...told.map(streamOf), whole('three')]
    stack.upstream.answer(served.backendModel, first, ...others)
    const asked = { messages, stop_sequences: ['four', 'three'] }
    const ends: unknown[] = []
    for (const way of ['whole', 'streamed'] as const)
      for (const _ of told) {
        const { stop_reason, stop_sequence } = await ask(served, way, asked)
        ends.push([stop_reason, stop_sequence])
      }
    const stopped = ['stop_sequence', 'three']
    const ended = ['end_turn', null]
    expect(ends).toEqual([stopped, stopped, ended, ended, stopped, stopped, ended, ended])
    const chat = await fetch(`${gateway().baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${served.customer.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: served.model, messages, stop: ['three'] }),
    })
    expect(await chat.text()).not.toMatch(/stop_reason|matched_stop/)
  },
)

test('a response that is cut at its limit was ended by no stop sequence', async () => {
  const served = await serve('OpenAI')
  const reply = { role: 'assistant', content: 'word '.repeat(2_000), refusal: null }
  const ending = { finish_reason: 'stop', stop_reason: 'three' }
  const usage = { prompt_tokens: 10, completion_tokens: 2_000, total_tokens: 2_010 }
  const choices = [{ index: 0, message: reply, logprobs: null, ...ending }]
  stack.upstream.answer(served.backendModel, plain('', { choices, usage }))
  expect(await ask(served, 'whole', { messages, stop_sequences: ['three'], max_tokens: 20 })).toMatchObject({
    stop_reason: 'max_tokens',
    stop_sequence: null,
  })
})

describe('money', () => {
  test.each([false, true])('is the same as of the same chat, streamed: %s', async (stream) => {
    const served = await serve('OpenAI')
    const { customer, model } = served
    const answer = await send(served, { messages, stream })
    const text = await answer.text()
    const id = answer.headers.get('x-gateway-request-id') ?? ''
    expect(answer.headers.get('request-id')).toBe(id)
    const chat = await fetch(`${gateway().baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${customer.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages, max_tokens: 100, stream }),
    })
    await chat.text()
    const message = stream ? expectMessageStream(readMessageEvents(text)) : JSON.parse(text)
    const shown = findRub(String((message.usage as Fields).cost_rub))
    const books = await settledBooks(stack, view, customer.organizationId, { requests: 2 })
    const [one, other] = [...books.values()]
    expect(other?.costNano).toBe(one?.costNano)
    expect(shown).toBe(one?.costNano)
    expect(findRub(answer.headers.get('x-gateway-cost-rub') ?? '')).toBe(stream ? undefined : shown)
    expect(books.get(id)?.record).toMatchObject({ endpoint: 'chat', apiFormat: 'messages' })
    const receipt = await fetch(`${gateway().baseUrl}/requests/msg_${id}`, {
      headers: { 'x-api-key': customer.key },
    })
    expect(await receipt.json()).toMatchObject({ id, api_format: 'messages' })
  })

  test('of each class of input is shown apart, and adds up', async () => {
    const usage = {
      prompt_tokens: 100,
      completion_tokens: 50,
      total_tokens: 150,
      prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 },
      completion_tokens_details: { reasoning_tokens: 20 },
    }
    const { role, say, finish, done } = goodStream
    const steps = [role, say('Hello'), finish(), goodStream.usage(usage), done]
    const served = await serve('OpenAI', [{ steps }], {
      ownNano: { cachedInput: 1_000n, cacheWrite: 12_000n, reasoning: 40_000n },
    })
    const answer = await send(served, { messages, stream: true })
    const { usage: shown } = expectMessageStream(readMessageEvents(await answer.text()))
    expect(shown).toMatchObject({
      input_tokens: 10,
      cache_read_input_tokens: 60,
      cache_creation_input_tokens: 30,
      output_tokens: 50,
      output_tokens_details: { thinking_tokens: 20 },
    })
    const due =
      10n * prices.inputNano + 60n * 1_000n + 30n * 12_000n + 30n * prices.outputNano + 20n * 40_000n
    expect(findRub(String((shown as Fields).cost_rub))).toBe(due)
    const [booked] = (await settledBooks(stack, view, served.customer.organizationId)).values()
    expect(booked?.costNano).toBe(due)
  })

  test("of a small balance is enough for a request with the model's maximum, which is then a lower limit", async () => {
    const balanceNano = 50_000_000_000n
    const served = await serve('OpenAI', [{ text: 'Hello' }, { text: 'Hello' }], {
      balanceNano,
      outputNano: 1_000_000n, // 128,000 tokens would cost 128 ₽
      maxOutputTokens: 128_000,
    })
    const answer = await send(served, { messages, max_tokens: 128_000 })
    expect(answer.status).toBe(200)
    const limit = Number(answer.headers.get('x-gateway-output-limit'))
    expect(limit).toBeGreaterThan(4_000)
    expect(BigInt(limit) * 1_000_000n).toBeLessThanOrEqual(balanceNano)
    expect(JSON.stringify(served.sent().at(-1))).toContain(`:${limit}`)
    const small = await send(served, { messages, max_tokens: 50 })
    expect([small.status, small.headers.get('x-gateway-output-limit')]).toEqual([200, null])
    expect(JSON.stringify(served.sent().at(-1))).toMatch(/max_(?:completion_)?tokens":50\b/)
    const left = Number(small.headers.get('x-ratelimit-remaining-tpm'))
    expect(2_000_000 - left).toBeLessThan(10_000)
  })
})

describe('a stream', () => {
  test('of a long prompt begins with an estimate of it, and ends with what is charged', async () => {
    const served = await serve('OpenAI', [{ text: 'Hello' }])
    const prompt = 'Say hello. '.repeat(1_000)
    const answer = await send(served, { messages: [{ role: 'user', content: prompt }], stream: true })
    const events = readMessageEvents(await answer.text())
    const [start] = events as readonly [{ message: { usage: { input_tokens: number } } }, ...typeof events]
    const { usage } = start.message
    expect(usage.input_tokens).toBeGreaterThan(2_000)
    expect(usage.input_tokens).toBeLessThan(6_000)
    expect(events.at(-2)).toMatchObject({ type: 'message_delta', usage: { input_tokens: 10 } })
  })

  test('that breaks ends with an error event', async () => {
    const { role, say } = goodStream
    let cutNow = () => {}
    const until = new Promise<void>((resolve) => {
      cutNow = resolve
    })
    const served = await serve('OpenAI', [{ steps: [role, say('Some words'), { until }, { cut: 'reset' }] }])
    const answer = await send(served, { messages, stream: true })
    cutNow() // its headers left with the first words
    const events = readMessageEvents(await answer.text())
    expectMessageStream(events, 'broken')
    expect(events.at(-1)).toMatchObject({
      type: 'error',
      error: { type: 'api_error', code: 'upstream_error' },
      request_id: answer.headers.get('request-id'),
    })
    const [booked] = (await settledBooks(stack, view, served.customer.organizationId)).values()
    expect(booked?.record).toMatchObject({ outcome: 'upstream_cut', apiFormat: 'messages' })
  })
})

describe('thinking', () => {
  const thought = { thought: 'A thought – 😀.', text: 'Hello' }
  const next = { role: 'user', content: 'Go on' } as const
  const thinkingIn = (body: Fields | undefined) =>
    ((body?.messages ?? []) as { content: string | Fields[] }[]).flatMap(({ content }) =>
      typeof content === 'string' ? [] : content.filter(({ type }) => type === 'thinking'),
    )
  const asked = { messages, output_config: { effort: 'low' } } as const
  const historyOf = (content: readonly object[]): Ask => ({
    ...asked,
    messages: [...messages, { role: 'assistant', content: content as never }, next],
  })

  test('of another organization, or damaged, is left out, and the request is served', async () => {
    const served = await serve('Anthropic', [thought])
    const { content } = await ask(served, 'whole', asked)
    const [thinking, text] = content as unknown as [Fields & { signature: string }, object]
    const other = clientOf((await stack.createCustomer()).key)
    await vi.waitFor(() => ask({ ...served, client: other }, 'whole', historyOf(content)), {
      timeout: 10_000,
    })
    expect(thinkingIn(served.sent().at(-1))).toEqual([])
    for (const signature of ['', 'gAAAA', thinking.signature.slice(0, -2)]) {
      await ask(served, 'whole', historyOf([{ ...thinking, signature }, text]))
      expect(thinkingIn(served.sent().at(-1))).toEqual([])
    }
    await ask(served, 'whole', historyOf(content))
    expect(thinkingIn(served.sent().at(-1))).toHaveLength(1)
  })

  test('that its client does not read returns with its signature, to its provider only', async () => {
    const call = { id: 'toolu_1', name: 'get_weather', arguments: {} }
    const [first, second] = await Promise.all([
      serve('Gemini', [{ thought: 'A thought – 😀.', calls: [call] }, { text: 'Done' }]),
      serve('OpenAI', [{ text: 'Hi' }]),
    ])
    const omitted: Ask = { ...asked, tools: [lookUp], thinking: { type: 'adaptive', display: 'omitted' } }
    const { content } = await ask(first, 'streamed', omitted)
    expect(content).toMatchObject([{ type: 'thinking', thinking: '' }, { type: 'tool_use' }])
    const [, { id }] = content as unknown as [object, { id: string }]
    const result = { type: 'tool_result', tool_use_id: id, content: 'Sun' } as const
    const history: Ask = {
      ...omitted,
      messages: [
        ...messages,
        { role: 'assistant', content: content as never },
        { role: 'user', content: [result] },
      ],
    }
    await ask(first, 'whole', history)
    expect(JSON.stringify(first.sent().at(-1))).toContain('thoughtSignature')
    await vi.waitFor(() => untilServed(gateway(), first.customer.key, second.model))
    await ask({ client: first.client, model: second.model }, 'whole', history)
    expect(JSON.stringify(second.sent().at(-1))).not.toMatch(/ignature|encrypted|gateway/)
  })
})
