import { expect, test } from 'vitest'
import { billingWords } from './messages.ts'
import { topUpError } from './top-up-amount.ts'

const bounds = { min_rub: '100', max_rub: '350000' }
const errorOf = (typed: string) => topUpError(typed, bounds, billingWords.en, 'en')

test('accepts an amount in any pasted form, up to and including its bounds', () => {
  for (const typed of ['100,00', ' 1\u00a0000 ', '１０００', '350 000 ₽', '100.50'])
    expect(errorOf(typed), typed).toBeUndefined()
})

test('has a separate message for each mistake', () => {
  expect(errorOf('  ')).toBe('Enter an amount')
  expect(errorOf('a lot')).toMatch('in digits')
  for (const typed of ['100.001', '150.000', '150,000']) expect(errorOf(typed)).toMatch('without separators')
  expect(errorOf('99,99')).toBe('At least ₽100.00')
  expect(errorOf('350000.01')).toBe('At most ₽350,000.00')
})
