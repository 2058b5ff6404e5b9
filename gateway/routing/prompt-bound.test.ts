import { expect, test } from 'vitest'
import type { RouteDocument } from '#core/catalog/catalog-document'
import type { PromptContent } from '../tokens/prompt-content.ts'
import { createDialect, type DialectSource } from '../upstream/dialect.ts'
import { aBackend, aRoute } from './made-up-route.fixture.ts'
import { familiesOf, promptTokensMax } from './prompt-bound.ts'

const text: PromptContent = { bytes: 1_000, prompts: 1, outside: null, unknownParameters: [] }
const media: PromptContent = { ...text, outside: 'messages[0].content[0]' }

function routeAt(
  quirks: NonNullable<DialectSource['quirks']>,
  defaults: RouteDocument['parameters']['defaults'] = {},
  contextLength: number | null = 128_000,
) {
  const document = { model: 'a/gpt-4o', type: 'chat', maxOutputTokens: null } as const
  const parameters = { drop: [], rename: {}, defaults }
  const backend = aBackend('main', 0, 1)
  const provider = { api: 'OpenAI', baseUrl: 'http://127.0.0.1', quirks } as const
  const dialect = createDialect(provider, 'gpt-4o', { ...document, parameters })
  return aRoute('a/gpt-4o', { contextLength, parameters, backends: [{ ...backend, dialect }] })
}

test('text has at most as many tokens as bytes, and no prompt is longer than its context', () => {
  expect(promptTokensMax(text, routeAt('generic'))).toBe(1_000)
  expect(promptTokensMax({ ...text, bytes: 500_000 }, routeAt('generic'))).toBe(128_000)
  expect(promptTokensMax(text, routeAt('generic', {}, null))).toBe(1_000)
  expect(promptTokensMax({ ...text, prompts: 3, bytes: 500_000 }, routeAt('generic'))).toBe(3 * 128_000)
})

test('what is not in the body may fill the context, and has no bound where that is not known', () => {
  expect(promptTokensMax(media, routeAt('generic'))).toBe(128_000)
  expect(promptTokensMax(media, routeAt('generic', {}, null))).toBeNull()
})

test('an unknown parameter may add content at a provider that receives it', () => {
  const content = { ...text, unknownParameters: ['knowledge_base'] }
  expect(promptTokensMax(content, routeAt('generic'))).toBe(128_000)
  expect(promptTokensMax(content, routeAt('deepseek')), 'it is dropped there').toBe(1_000)
  const azures = { ...text, unknownParameters: ['data_sources'] }
  expect(promptTokensMax(azures, routeAt('azure'))).toBe(128_000)
  expect(promptTokensMax(azures, routeAt('openai'))).toBe(1_000)
})

test("a route's own parameters count, and may add content too", () => {
  expect(promptTokensMax(text, routeAt('generic', { response_format: { type: 'json_object' } }))).toBe(
    1_000 + '{"response_format":{"type":"json_object"}}'.length,
  )
  for (const defaults of [{ search: true }, { web_search_options: {} }, { tools: [{ type: 'web_search' }] }])
    expect(promptTokensMax(text, routeAt('generic', defaults))).toBe(128_000)
})

test('a prompt is measured only where every backend has a family, and no provider adds to it', () => {
  expect(familiesOf(media, routeAt('openai'))).toMatchObject([{ encoding: 'o200k_base' }])
  expect(familiesOf({ ...text, unknownParameters: ['search'] }, routeAt('generic'))).toBeUndefined()
  const mixed = routeAt('openai')
  const other = { ...aBackend('other', 0, 1) }
  expect(
    familiesOf(text, {
      ...mixed,
      document: { ...mixed.document, model: 'a/m' },
      backends: [...mixed.backends, other],
    }),
  ).toBeUndefined()
  expect(familiesOf(text, { ...mixed, backends: [] })).toBeUndefined()
})
