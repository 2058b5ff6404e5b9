import { expect, test } from 'vitest'
import type { RouteDocument } from '#core/catalog/catalog-document'
import { adaptChatRequest, findDropped, findOutputLimit } from './chat-request.ts'
import { createDialect } from './dialect.ts'
import { isFailure } from './provider-adapter.ts'

const messages = [{ role: 'user', content: 'Hi' }]
const plain = { model: 'gpt-4o-2024', messages, stream: false }
const untouched: RouteDocument['parameters'] = { drop: [], rename: {}, defaults: {} }

function dialectOf(parameters: Partial<typeof untouched>, maxOutputTokens: number | null = null) {
  const provider = { api: 'OpenAI', baseUrl: 'http://10.0.0.1/v1' } as const
  return createDialect(provider, 'gpt-4o-2024', {
    model: 'openai/gpt-4o',
    type: 'chat',
    parameters: { ...untouched, ...parameters },
    maxOutputTokens,
  })
}

/** The adapted request, which OpenAI's adapter can always write. */
function writeChat(
  request: Omit<Parameters<typeof adaptChatRequest>[0], 'unmarked' | 'bodyBytes' | 'fetchImage'>,
) {
  const fetchImage = () => expect.fail('it has no image')
  const { call, ...written } = adaptChatRequest({ ...request, unmarked: 'kept', bodyBytes: 0, fetchImage })
  if (call instanceof Promise || isFailure(call)) throw new Error('it was not written at once')
  return { ...written, json: call.json }
}

function write(body: object, parameters: Partial<typeof untouched> = {}, mode: 'plain' | 'stream' = 'plain') {
  const request = { model: 'openai/gpt-4o', messages, ...body }
  const written = writeChat({
    body: request,
    mode,
    dialect: dialectOf(parameters),
    outputLimit: null,
  })
  expect(findDropped(request, dialectOf(parameters))).toEqual(written.dropped)
  return { sent: JSON.parse(JSON.stringify(written.json)), dropped: written.dropped }
}

test('the provider gets its own name of the model and all fields of the caller, unknown ones too', () => {
  const { sent, dropped } = write({ temperature: 0, top_k: 3 })
  expect(sent).toEqual({ model: 'gpt-4o-2024', messages, temperature: 0, top_k: 3, stream: false })
  expect(dropped).toEqual([])
})

test('usage is asked for on every stream, in addition to what the caller wants', () => {
  expect(write({}, {}, 'stream').sent).toMatchObject({
    stream: true,
    stream_options: { include_usage: true },
  })
  const options = { include_usage: false, include_obfuscation: false }
  expect(write({ stream_options: options }, {}, 'stream').sent.stream_options).toEqual({
    include_usage: true,
    include_obfuscation: false,
  })
  expect(write({ stream_options: options }).sent).not.toHaveProperty('stream_options')
})

test('a route drops parameters, and reports which of them the caller had sent', () => {
  const { sent, dropped } = write(
    { seed: 1, user: null },
    { drop: ['seed', 'user', 'logprobs', 'messages', 'model'] },
  )
  expect(sent).toEqual({ model: 'gpt-4o-2024', messages, stream: false })
  expect(dropped).toEqual(['seed'])
})

test('a route that drops stream_options gets a stream without them, and that is no dropped parameter', () => {
  const { sent, dropped } = write(
    { stream_options: { include_usage: true } },
    { drop: ['stream_options'] },
    'stream',
  )
  expect(sent).not.toHaveProperty('stream_options')
  expect(dropped).toEqual([])
})

test('a renamed parameter keeps its value, and gives way to one that was sent under the new name', () => {
  const rename = { max_tokens: 'max_completion_tokens', model: 'engine' }
  expect(write({ max_tokens: 5 }, { rename }).sent).toMatchObject({
    max_completion_tokens: 5,
    model: 'gpt-4o-2024',
  })
  expect(write({ max_tokens: 5 }, { rename }).sent).not.toHaveProperty('max_tokens')
  expect(write({ max_tokens: 5, max_completion_tokens: 6 }, { rename }).sent.max_completion_tokens).toBe(6)
})

test('a value that gives way to another is named by the name it was sent under', () => {
  const lost = write({ top_k: 5, top_n: 7 }, { rename: { top_k: 'top_n' } })
  expect(lost).toMatchObject({ sent: { top_n: 7 }, dropped: ['top_k'] })
  expect(write({ top_k: 7, top_n: 7 }, { rename: { top_k: 'top_n' } }).dropped).toEqual([])
  const provider = { api: 'OpenAI', quirks: 'mistral', baseUrl: 'http://10.0.0.1/v1' } as const
  const route = { model: 'any/m', type: 'chat', parameters: untouched, maxOutputTokens: null } as const
  const body = { messages, seed: 1, random_seed: 2 }
  expect(findDropped(body, createDialect(provider, 'm', route))).toEqual(['seed'])
})

test('a parameter renamed to itself stays', () => {
  const { sent, dropped } = write({ top_k: 5 }, { rename: { top_k: 'top_k' } })
  expect([sent.top_k, dropped]).toEqual([5, []])
})

test('a default fills only what is absent or null', () => {
  const defaults = { temperature: 0.5, top_p: 0.9, model: 'other' }
  expect(write({ temperature: 1, top_p: null }, { defaults }).sent).toMatchObject({
    temperature: 1,
    top_p: 0.9,
    model: 'gpt-4o-2024',
  })
})

test('what a route fills in is adapted like anything else, and is no parameter that a caller could miss', () => {
  const provider = { api: 'OpenAI', quirks: 'dashscope', baseUrl: 'http://10.0.0.1/v1' } as const
  const parameters = { ...untouched, drop: ['stop'], defaults: { reasoning_effort: 'low', stop: 'x' } }
  const route = { model: 'any/m', type: 'chat', parameters, maxOutputTokens: null } as const
  const dialect = createDialect(provider, 'm', route)
  const { json, dropped } = writeChat({
    outputLimit: null,
    body: { model: 'any/m', messages },
    mode: 'plain',
    dialect,
  })
  expect(JSON.parse(JSON.stringify(json))).toMatchObject({ enable_thinking: true, stop: 'x' })
  expect(dropped).toEqual([])
  expect(findDropped({ messages, reasoning_effort: 'high', stop: 'y' }, dialect)).toEqual([
    'stop',
    'reasoning_effort',
  ])
})

test('a default limit of output tokens gives way to the caller’s own, under whatever name either has', () => {
  const newer = { defaults: { max_completion_tokens: 4096 } }
  const older = { defaults: { max_tokens: 4096 } }
  const own = { rename: { max_tokens: 'max_new_tokens' }, defaults: { max_new_tokens: 4096 } }
  expect(write({ max_tokens: 5 }, newer).sent).toEqual({ ...plain, max_tokens: 5 })
  expect(write({ max_completion_tokens: 5 }, older).sent).toEqual({ ...plain, max_completion_tokens: 5 })
  expect(write({ max_completion_tokens: 5 }, own).sent).toEqual({ ...plain, max_completion_tokens: 5 })
  expect(write({ max_tokens: 5 }, own).sent).toEqual({ ...plain, max_new_tokens: 5 })
  expect(write({}, own).sent).toEqual({ ...plain, max_new_tokens: 4096 })
  expect(write({ max_tokens: null }, newer).sent).toEqual({ ...plain, max_completion_tokens: 4096 })
})

test('a route cannot ask for more responses than the caller, or set any other field of the caller', () => {
  const ofRequests = { n: 4, model: 'other', messages: [], stream: true, input: 'x' }
  expect(write({}, { defaults: { ...ofRequests, seed: 1 } }).sent).toEqual({ ...plain, seed: 1 })
  expect(write({ answers: 4 }, { rename: { answers: 'n' } }).sent).toEqual({ ...plain, answers: 4 })
})

test('__proto__ is plain data, and what the caller sent stays as it was', () => {
  const body = JSON.parse('{"model":"a/b","messages":[],"__proto__":{"x":1},"seed":1}')
  const before = JSON.stringify(body)
  const { json } = writeChat({
    outputLimit: null,
    body,
    mode: 'plain',
    dialect: dialectOf({ drop: ['seed'] }),
  })
  expect(JSON.stringify(json)).toContain('"__proto__":{"x":1}')
  expect(JSON.stringify(body)).toBe(before)
})

test('more output than the model can write is not asked for, and what was asked for is known', () => {
  const limited = (body: object) => {
    const request = { model: 'm', messages, ...body }
    const { json, outputTokensMax } = writeChat({
      outputLimit: null,
      body: request,
      mode: 'plain',
      dialect: dialectOf({}, 100),
    })
    return { sent: JSON.parse(JSON.stringify(json)), outputTokensMax }
  }
  expect(limited({ max_tokens: 500 })).toMatchObject({ sent: { max_tokens: 100 }, outputTokensMax: 100 })
  expect(limited({ max_completion_tokens: 50 })).toMatchObject({ outputTokensMax: 50 })
  expect(limited({}).outputTokensMax).toBeNull()
})

test('of the levels of service those pass that cost no more than the usual one, from a caller', () => {
  for (const tier of ['auto', 'default', 'on_demand', 'flex'])
    expect(write({ service_tier: tier }).sent).toEqual({ ...plain, service_tier: tier })
  for (const tier of ['priority', 'scale', 'fast', 'performance', 'AUTO'])
    expect(write({ service_tier: tier })).toEqual({ sent: plain, dropped: ['service_tier'] })
  const defaults = { service_tier: 'priority' }
  expect(write({}, { defaults })).toEqual({ sent: { ...plain, ...defaults }, dropped: [] })
  expect(write({ service_tier: 'flex' }, { defaults }).sent.service_tier).toBe('flex')
  expect(write({ web_search_options: {}, prediction: {}, n_predict: 9 })).toMatchObject({
    sent: plain,
    dropped: ['web_search_options', 'prediction', 'n_predict'],
  })
})

test('only a route may set parameters that defer a response, or cost more than was held', () => {
  for (const name of [
    'deferred',
    'background',
    'best_of',
    'models',
    'plugins',
    'chat_template',
    'extra_body',
  ]) {
    expect(write({ [name]: true })).toEqual({ sent: plain, dropped: [name] })
    expect(write({}, { defaults: { [name]: true } }).sent).toEqual({ ...plain, [name]: true })
  }
})

test.each([
  ['openrouter', 'provider', { only: ['dear-host'] }],
  ['openrouter', 'service_tier', 'priority'],
  ['dashscope', 'thinking_budget', 80_000],
  ['groq', 'compound_custom', {}],
  ['xai', 'deferred', true],
] as const)('at %s, %s comes from the route alone', (quirks, name, value) => {
  const provider = { api: 'OpenAI', baseUrl: 'http://10.0.0.1/v1', quirks } as const
  const sendTo = (body: object, defaults: Readonly<Record<string, unknown>> = {}) => {
    const parameters = { ...untouched, defaults }
    const route = { model: 'a/m', type: 'chat', parameters, maxOutputTokens: null } as const
    const request = { model: 'a/m', messages, ...body }
    const dialect = createDialect(provider, 'm', route)
    const written = writeChat({ body: request, mode: 'plain', dialect, outputLimit: null })
    return { sent: JSON.parse(JSON.stringify(written.json)), dropped: written.dropped }
  }
  const asked = sendTo({ [name]: value })
  expect(asked.dropped).toEqual([name])
  expect(asked.sent).not.toHaveProperty(name)
})

test('of two limits that are both sent the larger one counts, whichever the provider knows', () => {
  const limits = (body: object, parameters: Partial<typeof untouched> = {}, maxOutputTokens?: number) => {
    const request = { model: 'openai/gpt-4o', messages, ...body }
    const dialect = dialectOf(parameters, maxOutputTokens)
    const { json, outputTokensMax } = writeChat({
      body: request,
      mode: 'plain',
      dialect,
      outputLimit: null,
    })
    expect(findOutputLimit(request, dialect), 'what is held for is what is sent').toBe(outputTokensMax)
    const { model, messages: said, stream, ...sent } = JSON.parse(JSON.stringify(json))
    return { sent, outputTokensMax }
  }
  const both = { max_tokens: 5000, max_completion_tokens: 1 }
  expect(limits(both)).toEqual({ sent: both, outputTokensMax: 5000 })
  expect(limits(both, {}, 100).outputTokensMax).toBe(100)
  expect(limits(both, { drop: ['max_tokens'] }).outputTokensMax).toBe(1)
  expect(limits({ max_tokens: 5 }, { drop: ['max_tokens'] }).outputTokensMax).toBeNull()
})

test('a limit is a limit under the name that a route gives it, and under a default; below 1 it is none', () => {
  const limitOf = (body: object, parameters: Partial<typeof untouched>, maxOutputTokens?: number) =>
    findOutputLimit({ model: 'm', messages, ...body }, dialectOf(parameters, maxOutputTokens))
  const rename = { max_tokens: 'max_new_tokens' }
  expect(limitOf({ max_tokens: 5 }, { rename })).toBe(5)
  expect(limitOf({ max_tokens: 50_000 }, { rename }, 100)).toBe(100)
  expect(limitOf({ length: 5 }, { rename: { length: 'max_tokens' } })).toBe(5)
  expect(limitOf({}, { defaults: { max_tokens: 7 } })).toBe(7)
  expect(limitOf({}, { defaults: { max_tokens: -1 } })).toBeNull()
  expect(limitOf({}, { defaults: { max_tokens: 1.5 } })).toBeNull()
})

test('only where a route’s rules touch a limit of output tokens has it to be looked for in what would be sent', () => {
  const ruled = [
    { drop: ['max_completion_tokens'] },
    { rename: { max_tokens: 'max_new_tokens' } },
    { rename: { length: 'max_tokens' } },
    { defaults: { max_tokens: 5 } },
    { rename: { max_tokens: 'max_new_tokens' }, defaults: { max_new_tokens: 5 } },
  ]
  for (const parameters of ruled) expect(dialectOf(parameters).route.limit).toBe('ruled')
  const others = { drop: ['seed'], rename: { a: 'b' }, defaults: { top_p: 1 } }
  expect(dialectOf(others, 100).route.limit).toBe('as_asked')
})

test('however many fields a caller makes up, and however long, few and short names say what was dropped', () => {
  const body = Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`${n}_${'x'.repeat(1_000)}`, 1]))
  const { dropped, sent } = write(body, { drop: Object.keys(body) })
  expect(Object.keys(sent)).toEqual(['model', 'messages', 'stream'])
  expect(dropped).toHaveLength(32)
  expect(dropped[0]).toBe(`0_${'x'.repeat(62)}`)
})

test('a made-up name is shown without what cannot be printed or kept', () => {
  const drop = ['nul\0', 'half \ud83d', 'line\n']
  expect(write(Object.fromEntries(drop.map((name) => [name, 1])), { drop }).dropped).toEqual([
    'nul\uFFFD',
    'half \uFFFD',
    'line\uFFFD',
  ])
})

test('a number beyond 2^53 passes the rewriting of tools as it came', () => {
  const parameters = { strict: true, maximum: JSON.rawJSON('9223372036854775807') }
  const body = {
    model: 'any/m',
    messages,
    tools: [{ type: 'function', function: { name: 'f', parameters } }],
  }
  const provider = { api: 'OpenAI', quirks: 'vllm', baseUrl: 'http://10.0.0.1/v1' } as const
  const route = { model: 'any/m', type: 'chat', parameters: untouched, maxOutputTokens: null } as const
  const { json } = writeChat({
    body,
    mode: 'plain',
    dialect: createDialect(provider, 'm', route),
    outputLimit: null,
  })
  expect(JSON.stringify(json)).toContain('"parameters":{"maximum":9223372036854775807}')
})
