import { expect, test } from 'vitest'
import type { RouteDocument } from '#cabinet/catalogue-document'
import { createDialect } from './dialect.ts'
import { findDropped, writeOpenAiRequest } from './openai-request.ts'

const messages = [{ role: 'user', content: 'Hi' }]
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

function write(body: object, parameters: Partial<typeof untouched> = {}, mode: 'plain' | 'stream' = 'plain') {
  const request = { model: 'openai/gpt-4o', messages, ...body }
  const written = writeOpenAiRequest({ body: request, mode, dialect: dialectOf(parameters) })
  expect(findDropped(request, dialectOf(parameters))).toEqual(written.dropped)
  return { sent: JSON.parse(written.bytes.toString()), dropped: written.dropped }
}

test('the provider reads its own name of the model and all that the caller said, unknown fields too', () => {
  const { sent, dropped } = write({ temperature: 0, top_k: 3 })
  expect(sent).toEqual({ model: 'gpt-4o-2024', messages, temperature: 0, top_k: 3, stream: false })
  expect(dropped).toEqual([])
})

test('usage is asked for on every stream, beside what else the caller wants', () => {
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

test('a route takes parameters away, and says which of them the caller had sent', () => {
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

test('a default fills only what is absent or null', () => {
  const defaults = { temperature: 0.5, top_p: 0.9, model: 'other' }
  expect(write({ temperature: 1, top_p: null }, { defaults }).sent).toMatchObject({
    temperature: 1,
    top_p: 0.9,
    model: 'gpt-4o-2024',
  })
})

test('__proto__ is plain data, and what the caller sent stays as it was', () => {
  const body = JSON.parse('{"model":"a/b","messages":[],"__proto__":{"x":1},"seed":1}')
  const before = JSON.stringify(body)
  const { bytes } = writeOpenAiRequest({
    body,
    mode: 'plain',
    dialect: dialectOf({ drop: ['seed'] }),
  })
  expect(bytes.toString()).toContain('"__proto__":{"x":1}')
  expect(JSON.stringify(body)).toBe(before)
})

test('more output than the model can write is not asked for, and what was asked for is known', () => {
  const limited = (body: object) => {
    const request = { model: 'm', messages, ...body }
    const { bytes, outputTokensMax } = writeOpenAiRequest({
      body: request,
      mode: 'plain',
      dialect: dialectOf({}, 100),
    })
    return { sent: JSON.parse(bytes.toString()), outputTokensMax }
  }
  expect(limited({ max_tokens: 500 })).toMatchObject({ sent: { max_tokens: 100 }, outputTokensMax: 100 })
  expect(limited({ max_completion_tokens: 50 })).toMatchObject({ outputTokensMax: 50 })
  expect(limited({}).outputTokensMax).toBeNull()
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
  const { bytes } = writeOpenAiRequest({ body, mode: 'plain', dialect: createDialect(provider, 'm', route) })
  expect(bytes.toString()).toContain('"parameters":{"maximum":9223372036854775807}')
})
