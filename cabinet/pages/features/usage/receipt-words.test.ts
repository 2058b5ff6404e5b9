import { expect, test } from 'vitest'
import { pricedClasses, type Receipt, sumOf } from './receipt-words.ts'

const price: NonNullable<Receipt['price']> = {
  id: '',
  currency: 'RUB',
  unit: '1M tokens',
  input: '10.5',
  cached_input: null,
  cache_write: '0.001',
  output: '100',
  reasoning: null,
  per_request: '0.000000001',
}

test('each class costs its tokens at its own price or that of its family, to the last digit', () => {
  const tokens = { input: 3, cached_input: 2, cache_write: 7, output: 1, reasoning: 4 }
  const classes = pricedClasses(tokens, price)
  expect(classes.map(({ rubles }) => rubles)).toEqual([
    '0.0000315',
    '0.000021',
    '0.000000007',
    '0.0001',
    '0.0004',
  ])
  expect(sumOf(classes, price.per_request)).toBe('0.000552508')
})

test('classes without tokens are left out', () => {
  const tokens = { input: 1, cached_input: 0, cache_write: 0, output: 0, reasoning: 0 }
  expect(pricedClasses(tokens, price).map(({ name }) => name)).toEqual(['input'])
})
