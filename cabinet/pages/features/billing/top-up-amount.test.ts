import { expect, test } from 'vitest'
import { billingWords } from '../../words/billing.ts'
import { topUpError } from './top-up-amount.ts'

const bounds = { min_rub: '100', max_rub: '350000' }
const errorOf = (typed: string) => topUpError(typed, bounds, billingWords.en, 'en')

test('an amount is understood however it was pasted, and its bounds are its own', () => {
  for (const typed of ['100,00', ' 1\u00a0000 ', '１０００', '350 000 ₽', '100.50'])
    expect(errorOf(typed), typed).toBeUndefined()
})

test('each mistake has words of its own', () => {
  expect(errorOf('  ')).toBe('Enter an amount')
  expect(errorOf('a lot')).toMatch('in digits')
  for (const typed of ['100.001', '150.000', '150,000']) expect(errorOf(typed)).toMatch('without a point')
  expect(errorOf('99,99')).toBe('At least ₽100.00')
  expect(errorOf('350000.01')).toBe('At most ₽350,000.00')
})
