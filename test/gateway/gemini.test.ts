import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import OpenAI from 'openai'
import { zodResponseFormat } from 'openai/helpers/zod'
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { putPrice, putRoute } from '#core/catalog/catalog-store'
import { findRub, nanoRub } from '#core/ledger/money'
import { type ModelFields, storedRoute } from '../support/catalog.ts'
import type { Customer } from '../support/customer.ts'
import { geminiKey, startGemini } from '../support/gemini.ts'
import {
  geminiArrayStream,
  geminiChunk,
  geminiError,
  geminiEvent,
  geminiStream,
  geminiUsage,
  generated,
} from '../support/gemini-answers.ts'
import { type GeminiModel, gemini3Pro, gemini25Flash, geminiEmbedding } from '../support/gemini-models.ts'
import { png } from '../support/gemini-requests.ts'
import { geminiSignature } from '../support/gemini-signature.ts'
import type { Process } from '../support/processes.ts'
import { readMetric } from '../support/read-metric.ts'
import { inTestScope } from '../support/scope.ts'
import { createSealedProvider } from '../support/sealed-provider.ts'
import { stackOfThisFile, untilServed } from '../support/stack.ts'
import type { Answer, Upstream } from '../support/upstream.ts'

const stack = await stackOfThisFile()
let gateway: Process
let customer: Customer
let client: OpenAI

beforeAll(async () => {
  await stack.startWorker()
  gateway = await stack.startGateway()
  customer = await stack.createCustomer()
  client = new OpenAI({ baseURL: gateway.baseUrl, apiKey: customer.key, maxRetries: 0 })
})

type Served = { readonly server: Upstream; readonly model: string; readonly provider: string }

/** A scripted Gemini server behind a provider with its key. */
async function startProvider(): Promise<Pick<Served, 'server' | 'provider'>> {
  const server = await startGemini()
  onTestFinished(() => server.stop())
  const header = 'x-goog-api-key'
  const at = { api: 'Gemini', baseUrl: server.url, header, credential: geminiKey } as const
  return { server, provider: await createSealedProvider(stack, at) }
}

/** A model of Gemini that the gateway serves; its server gives these answers. */
async function served(
  { id }: GeminiModel,
  answers: readonly Answer[] = [],
  fields: ModelFields = {},
): Promise<Served> {
  const { server, provider } = await startProvider()
  const [first, ...rest] = answers
  if (first !== undefined) server.answer(id, first, ...rest)
  const backends = [{ name: 'main', provider, model: id, priority: 0, weight: 1 }]
  const model = await stack.createModel({ backends, ...fields })
  await untilServed(gateway, customer.key, model)
  return { server, model, provider }
}

/** ai.google.dev/gemini-api/docs/thought-signatures */
const lostSignature = 'skip_thought_signature_validator'

const hi: OpenAI.ChatCompletionMessageParam = { role: 'user', content: 'Hi' }

/** All that the server received of this model, accepted by its rules. */
function received({ server }: Pick<Served, 'server'>) {
  expect(server.requests.map(({ fault }) => fault).filter(Boolean)).toEqual([])
  return server.requests.map(({ body }) => body)
}

/** The record of a request, once it is in the ledger. */
async function booked(requestId: string | null | undefined) {
  return vi.waitFor(
    async () => {
      const books = await stack.readBooks(customer.organizationId)
      const row = books.records.get(requestId ?? '')
      if (row === undefined) throw new Error('it is not booked yet')
      return row
    },
    { timeout: 10_000, interval: 20 },
  )
}

const call = (name: string, args: object, thoughtSignature?: string) => ({
  functionCall: { name, args },
  ...(thoughtSignature === undefined ? {} : { thoughtSignature }),
})

describe('texts', () => {
  test('a conversation with instructions and an image, whole', async () => {
    const answer = generated([
      { text: 'Let me see.', thought: true },
      { text: 'Hello', thoughtSignature: geminiSignature() },
    ])
    const place = await served(gemini3Pro, [answer])
    const { data, response } = await client.chat.completions
      .create({
        model: place.model,
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'developer', content: 'Be kind.' },
          hi,
          {
            role: 'user',
            name: 'planner',
            content: [
              { type: 'text', text: 'Look' },
              { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } },
            ],
          },
        ],
        max_completion_tokens: 99,
        temperature: 1,
      })
      .withResponse()
    expect(data.choices[0]).toMatchObject({
      message: { content: 'Hello', reasoning_content: 'Let me see.' },
      finish_reason: 'stop',
    })
    expect(data.usage).toMatchObject({
      prompt_tokens: 10,
      completion_tokens: 5,
      prompt_tokens_details: { cached_tokens: 4 },
      completion_tokens_details: { reasoning_tokens: 2 },
    })
    expect(response.headers.get('x-gateway-dropped-params')).toBe('')
    const [request] = received(place)
    expect(request).toMatchObject({
      systemInstruction: { parts: [{ text: 'Be brief.' }, { text: 'Be kind.' }] },
      contents: [{ role: 'user', parts: [{ text: 'Hi' }, { text: 'Look' }, { inlineData: { data: png } }] }],
      generationConfig: { maxOutputTokens: 99, temperature: 1, thinkingConfig: { includeThoughts: true } },
    })
  })

  test('a stream, and its signature on the way back', async () => {
    const signature = geminiSignature()
    const chunks = [geminiChunk.thought('Hm.'), geminiChunk.text('Hel'), geminiChunk.text('lo', signature)]
    const place = await served(gemini3Pro, [
      geminiStream([...chunks, geminiChunk.finish()]),
      generated('Hello again'),
    ])
    const stream = client.chat.completions.stream({
      model: place.model,
      messages: [hi],
      stream_options: { include_usage: true },
    })
    const completion = await stream.finalChatCompletion()
    const [choice] = completion.choices
    expect(choice?.message).toMatchObject({ content: 'Hello', reasoning_content: 'Hm.' })
    expect(completion.usage).toMatchObject({ prompt_tokens: 10, completion_tokens: 5 })
    if (choice === undefined) return
    await client.chat.completions.create({ model: place.model, messages: [hi, choice.message, hi] })
    expect(received(place)[1]?.contents).toMatchObject([
      { role: 'user' },
      { role: 'model', parts: [{ text: 'Hello', thoughtSignature: signature }] },
      { role: 'user' },
    ])
  })

  test('several answers are as many candidates, and for a model with one the rest is dropped', async () => {
    const place = await served(gemini25Flash)
    const { choices } = await client.chat.completions.create({ model: place.model, messages: [hi], n: 3 })
    expect(choices.map(({ index, message }) => [index, message.content])).toEqual([
      [0, 'Hello'],
      [1, 'Hello'],
      [2, 'Hello'],
    ])
    const single = await served(gemini3Pro)
    const { data, response } = await client.chat.completions
      .create({ model: single.model, messages: [hi], n: 3, user: 'u' })
      .withResponse()
    expect(data.choices).toHaveLength(1)
    expect(response.headers.get('x-gateway-dropped-params')).toBe('n,user')
    received(single)
  })

  test('a message of the assistant may be the last', async () => {
    const place = await served(gemini3Pro)
    const messages: OpenAI.ChatCompletionMessageParam[] = [hi, { role: 'assistant', content: 'Once upon' }]
    await client.chat.completions.create({ model: place.model, messages })
    expect(received(place)[0]?.contents).toMatchObject([{ role: 'user' }, { role: 'model' }])
  })
})

describe('structured output', () => {
  const Answer = z.object({ city: z.string(), degrees: z.number() })
  const response_format = zodResponseFormat(Answer, 'answer')

  test('parse reads an answer by its schema', async () => {
    const place = await served(gemini3Pro, [generated('{"city":"Kazan","degrees":-3}')])
    const completion = await client.chat.completions.parse({
      model: place.model,
      messages: [hi],
      response_format,
    })
    expect(completion.choices[0]?.message.parsed).toEqual({ city: 'Kazan', degrees: -3 })
    expect(received(place)[0]?.generationConfig).toMatchObject({
      responseMimeType: 'application/json',
      responseJsonSchema: { type: 'object', required: ['city', 'degrees'], additionalProperties: false },
    })
  })

  test('next to functions, an older model has the schema in its prompt, and the client learns it', async () => {
    const place = await served(gemini25Flash)
    const { response } = await client.chat.completions
      .create({
        model: place.model,
        messages: [{ role: 'system', content: 'Be brief.' }, hi],
        response_format,
        tools: [{ type: 'function', function: { name: 'f' } }],
      })
      .withResponse()
    expect(response.headers.get('x-gateway-dropped-params')).toBe('response_format')
    expect(JSON.stringify(received(place)[0]?.systemInstruction)).toContain('degrees')
  })
})

describe('tools', () => {
  const parameters = { type: 'object', properties: { city: { type: 'string' } } }
  const tool = (name: string): OpenAI.ChatCompletionFunctionTool => ({
    type: 'function',
    function: { name, description: 'The weather', parameters },
  })

  /** Two parallel calls, then one, then the answer; each step is signed. */
  const threeTurns = (write: (parts: readonly object[]) => Answer) => [
    write([
      { text: 'Both first.', thought: true },
      call('get.weather', { city: 'Kazan', id: 1 }, geminiSignature('first')),
      call('get.weather', { city: 'Omsk' }),
    ]),
    write([call('get.weather', { city: 'Perm' }, geminiSignature('second'))]),
    write([{ text: 'Rain.', thoughtSignature: geminiSignature('third') }]),
  ]
  const whole = (parts: readonly object[]) => generated(parts)
  const inPieces = (parts: readonly object[]) =>
    geminiStream([...parts.map((part) => geminiChunk.parts([part])), geminiChunk.finish()])
  const rainIn = (city: unknown) => `rain in ${city}`

  /** What the server must have received in the third turn. */
  const history = (first: string, second: string) => {
    const response = (city: string) => ({
      functionResponse: { name: 'get.weather', response: { result: rainIn(city) } },
    })
    return [
      { role: 'user', parts: [{ text: 'Hi' }] },
      {
        role: 'model',
        parts: [call('get.weather', { city: 'Kazan', id: 1 }, first), call('get.weather', { city: 'Omsk' })],
      },
      { role: 'user', parts: [response('Kazan'), response('Omsk')] },
      { role: 'model', parts: [call('get.weather', { city: 'Perm' }, second)] },
      { role: 'user', parts: [response('Perm')] },
    ]
  }

  type Asked = Pick<OpenAI.ChatCompletionCreateParamsNonStreaming, 'model' | 'messages' | 'tools'>

  /** The next message of the model, whole or put together from a stream, as a client keeps it. */
  async function nextMessage(request: Asked, stream: boolean) {
    const completion = stream
      ? await client.chat.completions.stream(request).finalChatCompletion()
      : await client.chat.completions.create(request)
    const message = completion.choices[0]?.message
    if (message === undefined) throw new Error('nothing came')
    return message
  }

  test.each([
    [false, whole],
    [true, inPieces],
  ])('three turns with two parallel calls keep every signature (stream: %s)', async (stream, write) => {
    const place = await served(gemini3Pro, threeTurns(write))
    const messages: OpenAI.ChatCompletionMessageParam[] = [hi]
    for (;;) {
      const request = { model: place.model, messages, tools: [tool('get.weather')] }
      const message = await nextMessage(request, stream)
      messages.push(message)
      if (message.content !== null && message.content !== '') break
      for (const made of message.tool_calls ?? [])
        if (made.type === 'function') {
          const content = rainIn(JSON.parse(made.function.arguments).city)
          messages.push({ role: 'tool', tool_call_id: made.id, content })
        }
    }
    expect(received(place)[2]?.contents).toEqual(history(geminiSignature('first'), geminiSignature('second')))
  })

  // It sends back only the fields that OpenAI documents.
  test.each([
    [false, whole],
    [true, inPieces],
  ])(
    'runTools goes three turns, with a placeholder for each signature (stream: %s)',
    async (stream, write) => {
      const place = await served(gemini3Pro, threeTurns(write))
      const cities: unknown[] = []
      const runnable = {
        type: 'function' as const,
        function: {
          name: 'get.weather',
          description: 'The weather',
          parameters,
          parse: JSON.parse,
          function: ({ city }: { city: string }) => {
            cities.push(city)
            return rainIn(city)
          },
        },
      }
      const request = { model: place.model, messages: [hi], tools: [runnable] }
      const runner = stream
        ? client.chat.completions.runTools({ ...request, stream: true })
        : client.chat.completions.runTools(request)
      expect(await runner.finalContent()).toBe('Rain.')
      expect(cities).toEqual(['Kazan', 'Omsk', 'Perm'])
      expect(received(place)[2]?.contents).toEqual(history(lostSignature, lostSignature))
    },
  )

  test('a signature with one other byte is rejected by the provider, in its words', async () => {
    const place = await served(gemini3Pro, threeTurns(whole))
    const first = await client.chat.completions.create({
      model: place.model,
      messages: [hi],
      tools: [tool('get.weather')],
    })
    const text = JSON.stringify(first.choices[0]?.message)
    const signature = geminiSignature('first')
    const changed = `${signature.slice(0, 4)}${signature[4] === 'A' ? 'B' : 'A'}${signature.slice(5)}`
    const message = JSON.parse(text.replace(signature, changed))
    expect(text).toContain(signature)
    const results = message.tool_calls.map(({ id }: { id: string }) => ({
      role: 'tool',
      tool_call_id: id,
      content: 'x',
    }))
    const again = client.chat.completions.create({ model: place.model, messages: [hi, message, ...results] })
    await expect(again).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('Corrupted thought signature'),
    })
  })

  test('integers beyond 2^53 are the same in arguments and schemas, in both directions', async () => {
    const long = '12345678901234567890'
    const args = `{"id":${long}}`
    const answer = JSON.stringify({
      candidates: [
        { content: { role: 'model', parts: [call('f', {}, geminiSignature())] }, finishReason: 'STOP' },
      ],
      usageMetadata: geminiUsage,
    }).replace('"args":{}', `"args":${args}`)
    const place = await served(gemini3Pro, [{ steps: [{ send: answer }] }])
    const history = JSON.stringify([
      hi,
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: args } }],
      },
      { role: 'tool', tool_call_id: 'a', content: args },
    ])
    const tools = `[{"type":"function","function":{"name":"f","parameters":{"maximum":${long}}}}]`
    const response = await fetch(`${gateway.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${customer.key}`, 'content-type': 'application/json' },
      body: `{"model":"${place.model}","messages":${history},"tools":${tools}}`,
    })
    const body = (await response.json()) as OpenAI.ChatCompletion
    expect(body.choices[0]?.message.tool_calls).toMatchObject([{ function: { arguments: args } }])
    const sent = place.server.requests[0]?.bodyText ?? ''
    for (const part of [`"args":${args}`, `"response":${args}`, `"maximum":${long}`])
      expect(sent).toContain(part)
    received(place)
  })

  test('two hundred tools with names that Gemini rejects are sent under others, and called by their own', async () => {
    const names = Array.from({ length: 200 }, (_, at) => `${at} ${'дождь.'.repeat(20)}`.slice(0, 100))
    const echo: Answer = ({ body }) => {
      const [{ functionDeclarations: declared }] = body.tools as [
        { functionDeclarations: readonly { readonly name: string }[] },
      ]
      return generated([call(declared[150]?.name ?? '', {}, geminiSignature())])
    }
    const place = await served(gemini3Pro, [echo])
    const { choices } = await client.chat.completions.create({
      model: place.model,
      messages: [hi],
      tools: names.map(tool),
      tool_choice: 'required',
    })
    expect(choices[0]?.message.tool_calls).toMatchObject([{ function: { name: names[150] } }])
    received(place)
  })

  test('a client that leaves in the middle of a call pays for what the provider counts', async () => {
    const left = Promise.withResolvers<void>()
    const steps = [
      geminiEvent(geminiChunk.call('f', { city: 'Kazan' }, geminiSignature())),
      { until: left.promise },
      { waitMs: 300 }, // until the gateway knows
      geminiEvent(geminiChunk.finish()),
    ]
    const place = await served(gemini3Pro, [{ ...geminiStream([]), steps }])
    const stream = await client.chat.completions
      .create({ model: place.model, messages: [hi], tools: [tool('f')], stream: true })
      .withResponse()
    for await (const chunk of stream.data)
      if (chunk.choices[0]?.delta.tool_calls?.[0]?.function?.arguments) stream.data.controller.abort()
    left.resolve()
    const { record } = await booked(stream.request_id)
    expect(record).toMatchObject({
      outcome: 'client_gone',
      usageSource: 'provider',
      tokens: { input: 6, cachedInput: 4, output: 3, reasoning: 2 },
    })
  })
})

describe('what a provider rejects or fails', () => {
  test.each([false, true])(
    'a blocked prompt is an empty answer, and charged (stream: %s)',
    async (stream) => {
      const blocked = geminiChunk.blocked()
      const place = await served(gemini3Pro, [
        stream ? geminiStream([blocked]) : { steps: [{ send: JSON.stringify(blocked) }] },
      ])
      const request = { model: place.model, messages: [hi] }
      const { data, request_id } = await (stream
        ? client.chat.completions.create({ ...request, stream: true }).withResponse()
        : client.chat.completions.create(request).withResponse())
      const finishes: (string | null | undefined)[] = []
      if (Symbol.asyncIterator in data)
        for await (const chunk of data) finishes.push(chunk.choices[0]?.finish_reason)
      else {
        expect(data.choices[0]?.message.content).toBeNull()
        finishes.push(data.choices[0]?.finish_reason)
      }
      expect(finishes.at(-1)).toBe('content_filter')
      const { cost, record } = await booked(request_id)
      expect(record).toMatchObject({ usageSource: 'provider', tokens: { input: 10, output: 0 } })
      expect(cost).toBe(100_000n)
    },
  )

  test('a limit of the account is a 503 with its time to wait', async () => {
    const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34s' }]
    const place = await served(gemini3Pro, [geminiError(429, 'RESOURCE_EXHAUSTED', 'Quota.', details)])
    const failed = client.chat.completions.create({ model: place.model, messages: [hi] })
    await expect(failed).rejects.toMatchObject({ status: 503 })
    const headers = await failed.catch(({ headers }) => headers)
    expect(headers.get('retry-after')).toBe('34')
  })

  test.each([
    ['no_event_stream', geminiArrayStream([geminiChunk.text('Hel'), geminiChunk.finish()])],
    ['malformed_call', geminiStream([geminiChunk.parts([], { finishReason: 'MALFORMED_FUNCTION_CALL' })])],
    ['status_500', geminiError(500, 'INTERNAL', 'An internal error has occurred.')],
  ])('a stream that fails as %s before any content is tried again', async (result, failing) => {
    const good = geminiStream([geminiChunk.text('Hello'), geminiChunk.finish()])
    const place = await served(gemini3Pro, [failing, good], { attempts: 2 })
    const { data, request_id } = await client.chat.completions
      .create({ model: place.model, messages: [hi], stream: true })
      .withResponse()
    let text = ''
    for await (const chunk of data) text += chunk.choices[0]?.delta.content ?? ''
    expect(text).toBe('Hello')
    const { record } = await booked(request_id)
    expect(record.attempts.map((attempt) => attempt.result)).toEqual([result, 'answered'])
  })

  const image = (url: string) => ({ role: 'user', content: [{ type: 'image_url', image_url: { url } }] })
  const pdf = Buffer.from('%PDF-1.7 and more').toString('base64')
  const calls = {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
  }
  const result = { role: 'tool', tool_call_id: 'a', content: '1' }

  test.each([
    ['two results for one call', [hi, calls, result, result], 'messages[3].tool_call_id'],
    ['a missing result', [hi, calls, hi], 'messages[1].tool_calls[0].id'],
    ['invalid base64', [image('data:image/png;base64,a b')], 'messages[0].content[0].image_url.url'],
    ['a GIF', [image('data:image/gif;base64,R0lGODlhAQABAAAAACw=')], 'messages[0].content[0].image_url.url'],
    ['a PDF as image', [image(`data:image/png;base64,${pdf}`)], 'messages[0].content[0].image_url.url'],
    ['nothing to answer', [{ role: 'user', content: '' }], 'messages'],
  ])('%s is a 400 with the field, without a call and a charge', async (_, messages, param) => {
    const place = await served(gemini3Pro)
    const response = await fetch(`${gateway.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${customer.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: place.model, messages }),
    })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: { code: 'invalid_value', param } })
    expect(place.server.requests).toEqual([])
    const { request_id } = await client.chat.completions
      .create({ model: place.model, messages: [hi] })
      .withResponse()
    await booked(request_id) // and so would be the other one
    const { records } = await stack.readBooks(customer.organizationId)
    expect(records.get(response.headers.get('x-gateway-request-id') ?? '')).toBeUndefined()
  })

  test('an image on this machine is not fetched: a 400 with the part', async () => {
    let count = 0
    const local = createServer((_, response) => response.end())
    local.on('connection', () => {
      count += 1
    })
    await new Promise<void>((resolve) => local.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void local.close())
    const address = local.address()
    const port = typeof address === 'object' ? address?.port : undefined
    const place = await served(gemini3Pro)
    const failed = client.chat.completions.create({
      model: place.model,
      messages: [
        {
          role: 'user',
          content: [{ type: 'image_url', image_url: { url: `http://127.0.0.1:${port}/a.png` } }],
        },
      ],
    })
    await expect(failed).rejects.toMatchObject({ status: 400, param: 'messages[0].content[0].image_url.url' })
    expect([count, place.server.requests]).toEqual([0, []])
  })
})

test('a fallback to OpenAI and back: only Gemini sees signatures, and a placeholder where one is missing', async () => {
  const { server, provider } = await startProvider()
  const model = `test/two-${randomBytes(6).toString('hex')}`
  const atOpenAi = `${model}-openai`
  const unavailable = geminiError(500, 'INTERNAL', 'An internal error has occurred.')
  server.answer(
    gemini3Pro.id,
    generated([call('f', { step: 1 }, geminiSignature())]),
    unavailable,
    generated('Done.'),
  )
  const openAiCall = { id: 'call_o', type: 'function', function: { name: 'f', arguments: '{"step":2}' } }
  const message = { role: 'assistant', content: null, tool_calls: [openAiCall] }
  const choices = [{ index: 0, message, finish_reason: 'tool_calls' }]
  stack.upstream.answer(atOpenAi, { steps: [{ send: JSON.stringify({ choices }) }] })
  const backend = { weight: 1, priority: 0 }
  const backends = [
    { ...backend, name: 'gemini', provider, model: gemini3Pro.id },
    { ...backend, name: 'openai', provider: 'scripted', model: atOpenAi, priority: 1 },
  ]
  await stack.createModel({ model, backends, attempts: 2 })
  await untilServed(gateway, customer.key, model)
  const messages: OpenAI.ChatCompletionMessageParam[] = [hi]
  const tools: OpenAI.ChatCompletionTool[] = [{ type: 'function', function: { name: 'f' } }]
  for (;;) {
    const { choices } = await client.chat.completions.create({ model, messages, tools })
    const said = choices[0]?.message
    if (said === undefined) throw new Error('nothing came')
    if (said.content === 'Done.') break
    messages.push(said)
    for (const { id } of said.tool_calls ?? [])
      messages.push({ role: 'tool', tool_call_id: id, content: 'ok' })
  }
  expect(JSON.stringify(stack.upstream.requestsFor(atOpenAi)[0]?.body)).not.toContain('extra_content')
  expect(server.requests.map(({ fault }) => fault)).toEqual([undefined, undefined, undefined])
  expect(server.requests[2]?.body.contents).toMatchObject([
    { role: 'user' },
    { role: 'model', parts: [call('f', { step: 1 }, geminiSignature())] },
    { role: 'user' },
    { role: 'model', parts: [call('f', { step: 2 }, lostSignature)] },
    { role: 'user' },
  ])
})

test.each([false, true])(
  'each class of tokens at its price is the cost in the header and in the ledger (stream: %s)',
  async (stream) => {
    const usageMetadata = {
      promptTokenCount: 100,
      toolUsePromptTokenCount: 20,
      cachedContentTokenCount: 40,
      candidatesTokenCount: 30,
      thoughtsTokenCount: 50,
      totalTokenCount: 200,
    }
    const answer = stream
      ? geminiStream([geminiChunk.text('Hello'), geminiChunk.finish('STOP', usageMetadata)])
      : generated('Hello', { usageMetadata })
    const { server, provider } = await startProvider()
    server.answer(gemini3Pro.id, answer)
    const model = `test/priced-${randomBytes(6).toString('hex')}`
    const backends = [{ name: 'main', provider, model: gemini3Pro.id, priority: 0, weight: 1 }]
    await inTestScope(stack.database.pool, async (db) => {
      await putPrice(db, model, {
        input: nanoRub(10_000n),
        cachedInput: nanoRub(1_000n),
        cacheWrite: null,
        output: nanoRub(30_000n),
        reasoning: nanoRub(20_000n),
        perRequest: nanoRub(7n),
      })
      await putRoute(db, storedRoute(model, { backends, maxOutputTokens: 1_000 }), 'priced')
    })
    await untilServed(gateway, customer.key, model)
    const request = { model, messages: [{ role: 'user' as const, content: 'x'.repeat(400) }] }
    const options = { stream: true, stream_options: { include_usage: true } } as const
    const { data, response, request_id } = await (stream
      ? client.chat.completions.create({ ...request, ...options }).withResponse()
      : client.chat.completions.create(request).withResponse())
    let costRub = response.headers.get('x-gateway-cost-rub') ?? ''
    if (Symbol.asyncIterator in data)
      for await (const { usage } of data)
        costRub = (usage as { cost_rub?: string } | null)?.cost_rub ?? costRub
    const due = 80n * 10_000n + 40n * 1_000n + 30n * 30_000n + 50n * 20_000n + 7n
    const { cost, record } = await booked(request_id)
    expect(record.tokens).toEqual({ input: 80, cachedInput: 40, cacheWrite: 0, output: 30, reasoning: 50 })
    expect([cost, findRub(costRub)]).toEqual([due, due])
  },
)

describe('embeddings', () => {
  test('are one batch; the prompt, which Gemini does not count, is estimated', async () => {
    const before = await readMetric(gateway, 'bills_estimated_total{reason="missing",counted_by="tokenizer"}')
    const place = await served(geminiEmbedding, [], { type: 'embedding' })
    const { data, request_id } = await client.embeddings
      .create({ model: place.model, input: ['one', 'two'], dimensions: 8 })
      .withResponse()
    expect(data.data.map(({ index, embedding }) => [index, embedding.length])).toEqual([
      [0, 8],
      [1, 8],
    ])
    expect(data.usage.prompt_tokens).toBeGreaterThan(0)
    expect(received(place)[0]).toMatchObject({
      requests: [
        { model: 'models/gemini-embedding-001', content: { parts: [{ text: 'one' }] } },
        { content: { parts: [{ text: 'two' }] } },
      ],
    })
    const { record } = await booked(request_id)
    expect(record.usageSource).toBe('estimated')
    expect(
      await readMetric(gateway, 'bills_estimated_total{reason="missing",counted_by="tokenizer"}'),
    ).toBeGreaterThan(before)
  })
})

test('a provider with a wrong key is rejected, and the client does not see why', async () => {
  const { server } = await startProvider()
  const provider = await stack.createProvider({
    api: 'Gemini',
    baseUrl: server.url,
    headers: [{ name: 'x-goog-api-key', value: 'wrong' }],
  })
  const backends = [{ name: 'main', provider, model: gemini3Pro.id, priority: 0, weight: 1 }]
  const model = await stack.createModel({ backends })
  await untilServed(gateway, customer.key, model)
  await expect(client.chat.completions.create({ model, messages: [hi] })).rejects.toMatchObject({
    status: 502,
    message: expect.not.stringContaining('API key'),
  })
})
