import { expect, test } from 'vitest'
import type { Model, ModelDetails } from './features/models/model.ts'
import { comparisonPage, modelListPage, modelPage } from './model-documents.ts'

const pricing = {
  input: '1.5',
  cached_input: null,
  cache_write: null,
  output: '7',
  reasoning: null,
  per_request: '0',
}

function modelOf(id: string, fields: Partial<Model> = {}): Model {
  return {
    id,
    name: id,
    provider: 'acme',
    type: 'chat',
    description: '',
    context_length: null,
    max_output_tokens: null,
    input_modalities: ['text'],
    capabilities: null,
    countries: null,
    free: false,
    pricing,
    next_pricing: null,
    next_pricing_from: null,
    ...fields,
  }
}

const details: ModelDetails = {
  prices: [],
  last_week: { from: '', to: '', failed_share: null, first_token_ms: null, duration_ms: null },
  status: 'no_data',
}
const asked = { language: 'en', search: '', gatewayBaseUrl: 'https://gateway.example/v1' } as const
const perRequest = modelOf('acme/per-request', { pricing: { ...pricing, per_request: '0.000000001' } })
const embedding = modelOf('acme/embedding', { type: 'embedding' })

test('what each request costs is in the description, the list, a comparison and the price history, if it costs anything', () => {
  const version = { valid_from: '2026-01-01T00:00:00.000Z', pricing } as const
  const prices: ModelDetails['prices'] = [
    { ...version, state: 'in_force' },
    { ...version, state: 'past', pricing: perRequest.pricing },
  ]
  const search = '?model=acme%2Fper-request'
  const pages = [
    modelListPage([perRequest], asked),
    comparisonPage([perRequest], { ...asked, search }),
    modelPage(modelOf('acme/was-priced'), { ...details, prices }, asked),
  ]
  for (const { body } of pages) {
    expect(body.markup).toContain('Each request')
    expect(body.markup).toContain('<data value="0.000000001"')
  }
  expect(modelPage(perRequest, details, asked).description).toContain('; each request ₽0.000000001.')
  const other = modelOf('acme/other')
  expect(modelPage(other, details, asked).description).not.toContain('each request')
  expect(modelListPage([other], asked).body.markup).not.toContain('Each request')
})

test('embeddings have no output, so none of their pages has a price of it', () => {
  const search = '?model=acme%2Fembedding'
  const { description, body } = modelPage(embedding, details, asked)
  expect(description).toContain('input ₽1.50. ')
  const comparison = comparisonPage([embedding], { ...asked, search }).body
  for (const { markup } of [body, comparison, modelListPage([embedding], asked).body])
    expect(markup).not.toContain('<data value="7"')
})

test('the list keeps the models chosen for a comparison, also those that it does not show', () => {
  const search = '?q=other&model=acme%2Fper-request&model=acme%2Fother&model=acme%2Fgone'
  const { markup } = modelListPage([perRequest, modelOf('acme/other')], { ...asked, search }).body
  expect(markup).toContain('<input type="hidden" name="model" value="acme/per-request">')
  expect(markup).toMatch(/type="checkbox" name="model" value="acme\/other"[^>]* checked/)
  expect(markup).not.toContain('acme/gone')
})
