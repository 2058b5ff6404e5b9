import Anthropic from '@anthropic-ai/sdk'
import { jsonSchemaOutputFormat } from '@anthropic-ai/sdk/helpers/json-schema'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  anthropicApi,
  anthropicError,
  message,
  messageStream,
  redactedThinkingBlock,
  startAnthropic,
  streamed,
  streamedMessage,
  textBlock,
  thinkingBlock,
  toolUseBlock,
} from '../support/anthropic.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'
import { contentRejections } from './anthropic-rejections/content.ts'
import { fieldRejections, samplingRejections, thinkingRejections } from './anthropic-rejections/options.ts'
import { call, hi, png, type Request, result, say, thought } from './anthropic-rejections/requests.ts'
import { toolRejections } from './anthropic-rejections/tools.ts'
import { turnRejections } from './anthropic-rejections/turns.ts'

let upstream: Upstream

beforeAll(async () => {
  upstream = await startAnthropic()
})

afterAll(() => upstream.stop())

const rejections = [
  ...fieldRejections,
  ...samplingRejections,
  ...thinkingRejections,
  ...turnRejections,
  ...toolRejections,
  ...contentRejections,
]
const versions = ['2023-06-01', '2026-10-21']
const adaptive = { type: 'adaptive', display: 'summarized' } as const
const question = { role: 'user', content: 'What is the weather in Oslo and in Bergen?' } as const
const weather = {
  name: 'weather',
  description: 'The weather in a city',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
} satisfies Anthropic.Tool

/** `null` removes a header. */
function client(headers: Record<string, string | null> = {}, { url } = upstream): Anthropic {
  return new Anthropic({
    apiKey: 'a-key',
    baseURL: new URL(url).origin,
    maxRetries: 0,
    timeout: 10_000,
    defaultHeaders: headers,
  })
}

const versioned = (version: string) => client({ 'anthropic-version': version })

/** A request for a model that only its test uses. */
const asking = (model: string, fields: Partial<Anthropic.MessageCreateParamsNonStreaming> = {}) => ({
  model,
  max_tokens: 2_048,
  messages: [question],
  ...fields,
})

/** The turns of an answer and of the results of its calls, as a client sends them back. */
function answeredTurns(answer: Anthropic.Message): Anthropic.MessageParam[] {
  const calls = answer.content.filter(({ type }) => type === 'tool_use') as Anthropic.ToolUseBlock[]
  const results = calls.map(({ id }) => ({ type: 'tool_result' as const, tool_use_id: id, content: 'Rain' }))
  return [
    { role: 'assistant', content: answer.content as Anthropic.ContentBlockParam[] },
    { role: 'user', content: results },
  ]
}

describe.each(versions)('the SDK is served in version %s', (version) => {
  const suffix = version.replaceAll('-', '')

  test('whole and in a stream, with its request id', async () => {
    const request = asking(`claude-opus-5-${suffix}`)
    const { data, request_id: id } = await versioned(version).messages.create(request).withResponse()
    expect(data).toMatchObject({ content: [{ type: 'text', text: 'Hello' }], stop_reason: 'end_turn' })
    expect(data.usage).toMatchObject({ input_tokens: 10, output_tokens: 5 })
    expect(id).toMatch(/^req_/)
    const stream = versioned(version).messages.stream(request)
    const deltas: string[] = []
    stream.on('text', (delta) => void deltas.push(delta))
    expect(await stream.finalMessage()).toMatchObject({
      content: data.content,
      model: request.model,
      usage: { input_tokens: 10, output_tokens: 5 },
    })
    expect(deltas).toEqual(['Hel', 'lo'])
  })

  test('with thinking, whole, hidden and in a stream', async () => {
    const { messages } = versioned(version)
    const shown = await messages.create(asking('claude-opus-4-6', { thinking: adaptive }))
    expect(shown.content.map(({ type }) => type)).toEqual(['thinking', 'text'])
    expect(shown.usage.output_tokens_details).toEqual({ thinking_tokens: 7 })
    const hidden = await messages.create(asking('claude-opus-5', { thinking: { type: 'adaptive' } }))
    expect(hidden.content[0]).toEqual({
      type: 'thinking',
      thinking: '',
      signature: expect.stringMatching(/^\S+$/),
    })
    const stream = messages.stream(asking('claude-opus-4-6', { thinking: adaptive }))
    expect((await stream.finalMessage()).content).toEqual(shown.content)
  })

  test('thinking over three turns of parallel tools, whole and in a stream', async () => {
    const model = `claude-sonnet-5-5-tools${suffix}`
    const calls = ['Oslo', 'Bergen'].map((city) => toolUseBlock(`toolu_${city}`, 'weather', { city }))
    const again = toolUseBlock('toolu_again', 'weather', {})
    const blocks = [thinkingBlock('Two cities.'), redactedThinkingBlock('Hm.'), ...calls]
    upstream.answer(
      model,
      message(blocks, { model }),
      streamedMessage([thinkingBlock(''), again], { model }),
      message([textBlock('It rains.')], { model }),
    )
    const { messages } = versioned(version)
    const request = asking(model, { tools: [weather], thinking: adaptive })
    const first = await messages.create(request)
    expect(first.stop_reason).toBe('tool_use')
    const turns: Anthropic.MessageParam[] = [question, ...answeredTurns(first)]
    const second = await messages.stream({ ...request, messages: turns }).finalMessage()
    expect(second.content).toEqual([thinkingBlock(''), again])
    turns.push(...answeredTurns(second))
    const third = await messages.create({ ...request, messages: turns })
    expect(third.content).toEqual([textBlock('It rains.')])
    expect(upstream.requestsFor(model).map(({ fault }) => fault)).toEqual([undefined, undefined, undefined])
  })

  test('with structured output, parsed', async () => {
    const model = `claude-haiku-4-5-parse${suffix}`
    upstream.answer(model, message([textBlock('{"degrees":4}')]))
    const schema = {
      type: 'object',
      properties: { degrees: { type: 'integer' } },
      required: ['degrees'],
      additionalProperties: false,
    } as const
    const format = jsonSchemaOutputFormat(schema)
    const parsed = await versioned(version).messages.parse(asking(model, { output_config: { format } }))
    expect(parsed.parsed_output).toEqual({ degrees: 4 })
  })

  test('with images and cache marks, whose tokens no other class includes', async () => {
    const source = { type: 'base64', media_type: 'image/png', data: png } as const
    const answer = await versioned(version).messages.create(
      asking('claude-opus-5', {
        system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral', ttl: '1h' } }],
        messages: [
          {
            role: 'user',
            content: [
              { type: 'image', source, cache_control: { type: 'ephemeral' } },
              { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
            ],
          },
        ],
      }),
    )
    expect(answer.usage).toMatchObject({
      input_tokens: 10,
      cache_creation_input_tokens: 20,
      cache_read_input_tokens: 100,
    })
  })

  test('counts of tokens and the list of models', async () => {
    const { messages, models } = versioned(version)
    const counted = await messages.countTokens({ model: 'claude-opus-5', messages: [question] })
    expect(counted).toMatchObject({ input_tokens: 10 })
    const ids: string[] = []
    for await (const { id, type } of models.list()) ids.push(`${type} ${id}`)
    expect(ids).toContain('model claude-opus-5')
    expect(upstream.requestsFor('/models').length).toBeGreaterThan(0)
  })
})

test('thinking of one server is valid on another', async () => {
  await using other = await startUpstream({ api: anthropicApi })
  const request = asking('claude-opus-4-6', { thinking: adaptive })
  const { content } = await client().messages.create(request)
  const answer = { role: 'assistant', content: content as Anthropic.ContentBlockParam[] } as const
  await client({}, other).messages.create({ ...request, messages: [question, answer, hi] })
  expect(other.requests.map(({ fault }) => fault)).toEqual([undefined])
})

test('a stream of any events arrives as it was scripted, and an error in it is thrown', async () => {
  const model = 'claude-opus-5-events'
  const {
    start,
    ping,
    blockStart,
    blockDelta,
    blockStop,
    text,
    toolUse,
    redactedThinking,
    finish,
    stop,
    error,
  } = messageStream
  const good = [
    start(),
    ping,
    blockStart(0, textBlock('')),
    blockDelta(0, { type: 'text_delta', text: 'Hi' }),
    blockStop(0),
    ...toolUse(1, 'toolu_1', 'weather', []),
    ...toolUse(2, 'toolu_2', 'weather', ['{"ci', 'ty":"Oslo"}']),
    ...redactedThinking(3),
    finish('tool_use', { output_tokens: 9, output_tokens_details: { thinking_tokens: 2 } }),
    stop,
  ]
  const overloaded = [start(), ...text(0, ['Hi']), error('overloaded_error', 'Overloaded')]
  upstream.answer(model, streamed(good), streamed(overloaded))
  const { messages } = client()
  const answer = await messages.stream(asking(model)).finalMessage()
  expect(answer.content).toMatchObject([
    { text: 'Hi' },
    { type: 'tool_use', input: {} },
    { type: 'tool_use', input: { city: 'Oslo' } },
    { type: 'redacted_thinking' },
  ])
  expect(answer.usage).toMatchObject({ output_tokens: 9, output_tokens_details: { thinking_tokens: 2 } })
  await expect(messages.stream(asking(model)).finalMessage()).rejects.toThrow('Overloaded')
})

test('a scripted error has the status, the type and the request id of the API', async () => {
  upstream.answer('claude-opus-5-error', anthropicError(529, 'overloaded_error', 'Overloaded'))
  const failed = client().messages.create(asking('claude-opus-5-error'))
  await expect(failed).rejects.toMatchObject({
    status: 529,
    type: 'overloaded_error',
    requestID: expect.stringMatching(/^req_/),
  })
})

test.each([
  ['consecutive turns of one role', { messages: [hi, hi, { role: 'assistant', content: 'Hello' }, hi] }],
  ['a first turn of the assistant', { messages: [{ role: 'assistant', content: 'Hello' }, hi] }],
  [
    'results in turns of their own',
    {
      messages: [
        hi,
        { role: 'assistant', content: [call] },
        { role: 'assistant', content: [{ ...call, id: 'toolu_2' }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_2' }] },
        { role: 'user', content: [result, say('Well?')] },
      ],
    },
  ],
  [
    'changed thinking in an earlier turn',
    {
      messages: [
        hi,
        { role: 'assistant', content: [{ ...thought, thinking: 'Changed.' }, say('Hello')] },
        hi,
        { role: 'assistant', content: 'Hello' },
        hi,
      ],
    },
  ],
  [
    'adaptive thinking, and a call without its thinking',
    {
      thinking: adaptive,
      messages: [hi, { role: 'assistant', content: [call] }, { role: 'user', content: [result] }],
    },
  ],
  ['a choice without tools that forces none', { tool_choice: { type: 'auto' }, tools: [] }],
] as const)('the API accepts %s', async (_, fields) => {
  const request = { ...asking('claude-opus-4-6'), ...fields } as unknown as Request
  expect(await client().messages.create(request)).toMatchObject({ stop_reason: 'end_turn' })
})

test('the newest model accepts its thinking only after the conversation that it was for', async () => {
  const { messages } = client()
  const model = 'claude-sonnet-5-5'
  const request = asking(model, { system: 'Be brief.', tools: [weather], thinking: adaptive })
  const { content } = await messages.create(request)
  const answer = { role: 'assistant', content: content as Anthropic.ContentBlockParam[] } as const
  const marked = { type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } } as const
  const later = { ...request, messages: [question, answer, hi] }
  await messages.create({ ...later, system: [marked] })
  await messages.create({ ...later, model: 'claude-opus-4-6', system: 'Be long.' })
  const bound =
    'messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
  for (const change of [{ system: 'Be long.' }, { tools: [] }, { messages: [hi, answer, hi] }])
    await expectRejection(messages.create({ ...later, ...change }), 400, 'invalid_request_error', bound)
})

test('a request to fill the cache gets no content', async () => {
  const answer = await client().messages.create(asking('claude-opus-5', { max_tokens: 0 }))
  expect(answer).toMatchObject({ content: [], stop_reason: 'max_tokens' })
})

describe('a request is rejected as the API rejects it', () => {
  const key = 'authorization'
  test.each([
    ['without a key', { [key]: null }, 401, 'authentication_error', 'x-api-key header is required'],
    [
      'without a version',
      { 'anthropic-version': null },
      400,
      'invalid_request_error',
      'anthropic-version: header is required',
    ],
    [
      'in an unknown version',
      { 'anthropic-version': '2024-10-22' },
      400,
      'invalid_request_error',
      'anthropic-version: "2024-10-22" is not a valid version',
    ],
  ] as const)('%s', async (_, headers, status, type, text) => {
    await client({ 'x-api-key': 'a-key', [key]: null }).messages.create(asking('claude-opus-5'))
    await expectRejection(client(headers).messages.create(asking('claude-opus-5')), status, type, text)
  })

  test('for a model that does not exist', async () => {
    const request = client().messages.create(asking('claude-2'))
    await expectRejection(request, 404, 'not_found_error', 'model: claude-2')
  })

  test('at an address that does not exist', async () => {
    const request = client().post('/v1/embeddings')
    await expectRejection(request, 404, 'not_found_error', 'Not found')
  })

  test('where a count of tokens has a field of a message', async () => {
    const { messages } = client()
    const request = { model: 'claude-opus-5', messages: [question] }
    await messages.countTokens(request)
    const wrong = messages.countTokens({ ...request, ...{ max_tokens: 10 } })
    const text = 'max_tokens: Extra inputs are not permitted'
    await expectRejection(wrong, 400, 'invalid_request_error', text)
  })

  test.each(rejections)('$name', async ({ request, version = '2023-06-01', change, message: text }) => {
    const { messages } = versioned(version)
    await messages.create(request as Request)
    const changed = Object.entries(change).reduce(withChange, JSON.parse(JSON.stringify(request))) as Request
    await expectRejection(messages.create(changed), 400, 'invalid_request_error', text)
  })
})

/** A request with one value replaced or, by `undefined`, removed. The path is that of an error: `messages.0.content`. */
function withChange(request: object, [path, value]: readonly [string, unknown]): object {
  const names = path.split('.')
  const last = names.pop() ?? ''
  const holder = names.reduce<Record<string, unknown>>(
    (fields, name) => fields[name] as Record<string, unknown>,
    request as Record<string, unknown>,
  )
  if (value === undefined) delete holder[last]
  else holder[last] = value
  return request
}

const classes: Readonly<Record<number, unknown>> = {
  400: Anthropic.BadRequestError,
  401: Anthropic.AuthenticationError,
  404: Anthropic.NotFoundError,
}

async function expectRejection(
  sent: Promise<unknown>,
  status: number,
  type: string,
  text: string,
): Promise<void> {
  const error = await sent.then(
    () => expect.fail('the request was accepted'),
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(classes[status])
  const { requestID, error: body } = error as InstanceType<typeof Anthropic.APIError>
  expect(body).toEqual({ type: 'error', error: { type, message: text }, request_id: requestID })
  expect(requestID).toMatch(/^req_/)
}
