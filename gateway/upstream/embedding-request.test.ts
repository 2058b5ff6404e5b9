import { expect, test } from 'vitest'
import { type ProviderDocument, quirksNames, type RouteDocument } from '#core/catalog/catalog-document'
import { findDropped } from './chat-request.ts'
import { createDialect } from './dialect.ts'
import { adaptEmbeddingRequest, findDroppedOfEmbedding } from './embedding-request.ts'

const untouched: RouteDocument['parameters'] = { drop: [], rename: {}, defaults: {} }

function dialectOf(quirks: ProviderDocument['quirks'], parameters: Partial<typeof untouched> = {}) {
  const provider = { api: 'OpenAI', baseUrl: 'http://10.0.0.1/v1', quirks } as const
  return createDialect(provider, 'their-model', {
    model: 'a/model',
    type: 'embedding',
    parameters: { ...untouched, ...parameters },
    maxOutputTokens: null,
  })
}

function write(
  body: object,
  dialect = dialectOf('generic'),
  items: readonly unknown[] = ['x'],
  format: 'float' | 'base64' = 'base64',
) {
  const request = { model: 'a/model', input: 'as the client sent it', ...body }
  const json = adaptEmbeddingRequest({ body: request, items, format, dialect })
  const dropped = findDroppedOfEmbedding(request, dialect)
  expect(findDropped(request, dialect)).toEqual(dropped)
  return { sent: JSON.parse(JSON.stringify(json)), dropped }
}

test('a provider gets its own name of the model, the items of this call, and the format that it knows', () => {
  const base = { model: 'their-model', input: 'x' }
  expect(write({ encoding_format: 'base64' }).sent).toEqual({ ...base, encoding_format: 'float' })
  expect(write({}, dialectOf('openai')).sent).toEqual({ ...base, encoding_format: 'base64' })
  expect(write({}, dialectOf('openai'), ['x'], 'float').sent).toEqual({ ...base, encoding_format: 'float' })
  expect(write({}, dialectOf('generic'), ['x', 'y']).sent.input).toEqual(['x', 'y'])
  expect(write({}, dialectOf('openai'), [[1, 2]]).sent.input).toEqual([1, 2])
})

test('an unknown provider gets every field, a strict one what it knows; what is lost is named', () => {
  const own = { dimensions: 3, user: 'u', input_type: 'query', truncate: null }
  expect(write(own)).toMatchObject({ sent: { dimensions: 3, user: 'u', input_type: 'query' }, dropped: [] })
  expect(write(own).sent).not.toHaveProperty('truncate')
  const openai = write(own, dialectOf('openai'))
  expect([openai.sent.dimensions, openai.sent.user, openai.dropped]).toEqual([3, 'u', ['input_type']])
  expect(write(own, dialectOf('lmstudio')).dropped).toEqual(['dimensions', 'user', 'input_type'])
})

test('parameters of chats reach no provider that refuses what it does not know', () => {
  const chat = { temperature: 0, tools: [], stop: 'x', metadata: {}, reasoning_effort: 'low' }
  for (const kind of ['openai', 'azure', 'xai', 'yandexgpt', 'gemini', 'cohere', 'ollama'] as const) {
    const { sent, dropped } = write(chat, dialectOf(kind))
    expect([Object.keys(sent), dropped], kind).toEqual([
      ['model', 'input', 'encoding_format'],
      Object.keys(chat),
    ])
  }
})

test('tokens go only to OpenAI: other providers would read other text', () => {
  const takers = quirksNames.filter((kind) => dialectOf(kind).quirks.embeddings.tokens === 'yes')
  expect(takers).toEqual(['openai', 'openai-responses', 'azure', 'azure-deployments'])
})

test('the rules of the route come first: what it sets is never dropped, what it drops is not sent', () => {
  const dialect = dialectOf('yandexgpt', {
    drop: ['user', 'encoding_format'],
    rename: { dimensions: 'output_dimension' },
    defaults: { input_type: 'doc' },
  })
  const { sent, dropped } = write({ user: 'u', dimensions: 3 }, dialect)
  expect(sent).toMatchObject({ output_dimension: 3, input_type: 'doc' })
  expect(Object.keys(sent)).not.toContain('encoding_format')
  expect(dropped).toEqual(['user'])
})

test('a rename loses nothing unnamed', () => {
  const itself = write({ dimensions: 3 }, dialectOf('generic', { rename: { dimensions: 'dimensions' } }))
  expect([itself.sent.dimensions, itself.dropped]).toEqual([3, []])
  const taken = dialectOf('generic', { rename: { dimensions: 'size' } })
  expect(write({ dimensions: 3, size: 4 }, taken)).toMatchObject({
    sent: { size: 4 },
    dropped: ['dimensions'],
  })
})

test('however many fields a caller makes up, few and short names say what was dropped', () => {
  const body = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`${n}_${'x'.repeat(1_000)}`, 1]))
  const { dropped } = write(body, dialectOf('generic', { ...untouched, drop: Object.keys(body) }))
  expect(dropped).toHaveLength(32)
  expect(dropped[0]).toHaveLength(64)
})
