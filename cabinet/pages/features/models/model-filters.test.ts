import { expect, test } from 'vitest'
import { type Model, readCompared } from './model.ts'
import { countSet, findModels, readFilters, writeFilters } from './model-filters.ts'
import { listSearchOf } from './model-list-html.ts'

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
    capabilities: null,
    countries: null,
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

const skilled = [
  modelOf('unknown', {}),
  modelOf('none', {}, { capabilities: [] }),
  modelOf(
    'tools',
    { output: '60' },
    { capabilities: ['tools'], max_output_tokens: 8_000, countries: ['RU'] },
  ),
  modelOf(
    'both',
    { output: '400' },
    { capabilities: ['tools', 'reasoning'], max_output_tokens: 64_000, countries: ['DE', 'RU'] },
  ),
]
const skilledBy = (search: string) => findModels(skilled, readFilters(search)).map(({ id }) => id)

test('a model is found by a capability, a limit or a country only if the catalog states it', () => {
  expect(skilledBy('?capability=tools')).toEqual(['tools', 'both'])
  expect(skilledBy('?capability=tools&capability=reasoning')).toEqual(['both'])
  expect(skilledBy('?max_output=16000')).toEqual(['both'])
  expect(skilledBy('?country=DE')).toEqual(['both'])
  expect(skilledBy('?country=RU&output_price=100')).toEqual(['tools'])
})

test('an address of filters and compared models is read as it was written', () => {
  const search =
    '?q=a+b&provider=acme&kind=chat&modality=image&context=8000&max_output=4000&price=50&output_price=100&country=RU&order=cheap&capability=tools&capability=reasoning'
  expect(writeFilters(readFilters(search), [])).toBe(search)
  expect(countSet(readFilters(search))).toBe(10)
  const ids = ['vendor/имя/с косой,чертой', 'a/b']
  expect(readCompared(writeFilters(readFilters(''), ids))).toEqual(ids)
})

test('a search has at most 100 characters, and eight words that count', () => {
  expect(readFilters(`?q=${'x'.repeat(101)}`).text).toBe('x'.repeat(100))
  const known = 'of zeros '.repeat(5).trim()
  expect(foundBy(`?q=${encodeURIComponent(`${known} a b c d e f not-there`)}`)).toEqual([])
  expect(foundBy(`?q=${encodeURIComponent('o f - z e r s i not-there')}`)).toEqual([])
  expect(foundBy(`?q=${encodeURIComponent('o f - z e r s of not-there')}`)).toEqual(['of-zeros'])
})

test('addresses with the same list have the same key, which is short', () => {
  const key = (search: string) => listSearchOf(search, models)
  for (const other of [
    '?x=1',
    '?page=2',
    '?page=-1',
    '?order=name',
    '?model=gone',
    '?context=7',
    '?kind=&utm=a',
  ])
    expect([other, key(other)]).toEqual([other, ''])
  expect(key('?x=1&model=cheap&order=cheap&price=50&page=1')).toBe('?price=50&order=cheap&model=cheap')
  expect(key(`?q=${'x'.repeat(1_900)}`).length).toBeLessThan(200)
})

test('an address compares at most four models, each once', () => {
  expect(readCompared('?model=a/1&model=a/1&model=a/2&model=a/3&model=a/4&model=a/5')).toEqual([
    'a/1',
    'a/2',
    'a/3',
    'a/4',
  ])
})

test('1,000 models of 300 providers are filtered and sorted within 100 ms', () => {
  const many = Array.from({ length: 1_000 }, (_, n) =>
    modelOf(
      `vendor-${n % 300}/m-${n}`,
      { input: String(n % 97), output: String(n % 89) },
      {
        provider: `vendor-${n % 300}`,
        description: 'word '.repeat(400),
        capabilities: ['tools'],
      },
    ),
  )
  const tries = Array.from({ length: 3 }, () => {
    const startedMs = performance.now()
    const found = findModels(many, readFilters('?q=m-9+word&capability=tools&price=50&order=cheap'))
    expect(found.length).toBeGreaterThan(10)
    return performance.now() - startedMs
  })
  expect(Math.min(...tries)).toBeLessThan(100)
})
