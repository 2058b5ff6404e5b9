import { expect, test } from 'vitest'
import type { Model } from './model.ts'
import { findModels, readFilters } from './model-filters.ts'

const nothing = {
  input: '0',
  cached_input: null,
  cache_write: null,
  output: '0',
  reasoning: null,
  per_request: '0',
}

function modelOf(id: string, pricing: Partial<Model['pricing']>, fields: Partial<Model> = {}): Model {
  return {
    id,
    name: id,
    provider: 'acme',
    type: 'chat',
    description: '',
    context_length: null,
    max_output_tokens: null,
    input_modalities: ['text'],
    free: false,
    pricing: { ...nothing, ...pricing },
    next_pricing: null,
    next_pricing_from: null,
    ...fields,
  }
}

const models = [
  modelOf('free', {}, { free: true }),
  modelOf('of-zeros', {}),
  modelOf('paid-output', { output: '100' }),
  modelOf('paid-reasoning', { reasoning: '100' }),
  modelOf('paid-cache', { cache_write: '0.000001' }),
  modelOf('paid-request', { per_request: '0.000000001' }),
  modelOf('embedding', { output: '100' }, { type: 'embedding' }),
  modelOf('cheap', { input: '40', output: '100' }),
]
const foundBy = (search: string) => findModels(models, readFilters(search)).map(({ id }) => id)

test('a free model costs nothing at all: free input with another price does not count', () => {
  expect(foundBy('?price=0')).toEqual(['free', 'of-zeros', 'embedding'])
})

test('any other bound applies to the input price', () => {
  expect(foundBy('?price=50')).toEqual(models.map(({ id }) => id))
})
