import { expect, test } from 'vitest'
import { type SearchEntry, search } from './search.ts'

const entry = (title: string, text: string, page = 'Errors'): SearchEntry => ({
  page,
  title,
  address: `/docs/errors#${title}`,
  text,
})
const entries = [
  entry('Streaming', 'The last chunk has the usage. An invalid_api_key ends it.', 'API'),
  entry('invalid_api_key', 'The key is unknown.'),
  entry('Счёт', 'Оплата счёта по реквизитам', 'Оплата'),
]
const titles = (query: string) => search(entries, query).map(({ title }) => title)

test('a search finds headings with every word of it, a title before a text', () => {
  expect(titles('invalid_api_key')).toEqual(['invalid_api_key', 'Streaming'])
  expect(titles('stream chunk')).toEqual(['Streaming'])
  expect(titles('stream nowhere')).toEqual([])
  expect(titles('СЧЕТ')).toEqual(['Счёт'])
  expect(titles('оплат')).toEqual(['Счёт'])
})

test('a search for nothing finds nothing, and one of 10,000 characters is answered as its beginning', () => {
  expect(titles('')).toEqual([])
  expect(titles(' .*+?^()|[]\\ ')).toEqual([])
  expect(titles(`key ${'x'.repeat(10_000)}`)).toEqual([])
  expect(titles(`unknown${' key'.repeat(2_500)}`)).toEqual(['invalid_api_key'])
})
