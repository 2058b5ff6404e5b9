import { expect, test } from 'vitest'
import {
  addRubles,
  compareRubles,
  digitsOf,
  findTypedRubles,
  formatRoubles,
  isFinerThanKopecks,
  shareOf,
  typedRubles,
} from './rubles.ts'

/** As rendered: the blanks of `Intl` do not break a line. */
const plain = (text: string) => text.replace(/\s/g, ' ')

test('a sum that no float can represent is added, compared and formatted to its last digit', () => {
  expect(addRubles('9007199254.740993123', '0.000000001', '-0.5')).toBe('9007199254.240993124')
  expect(compareRubles('9007199254.740993123', '9007199254.740993124')).toBeLessThan(0)
  expect(plain(formatRoubles('9007199254.740993123', 'ru', 'exact'))).toBe('9 007 199 254,740993123 ₽')
  expect(plain(formatRoubles('9007199254.740993123', 'en', 'exact'))).toBe('₽9,007,199,254.740993123')
})

test('kopecks are rounded down, below zero too: never more than there is', () => {
  const shown = ['0.999999999', '-0.000000001', '100', '0.1'].map((sum) => plain(formatRoubles(sum, 'ru')))
  expect(shown).toEqual(['0,99 ₽', '-0,01 ₽', '100,00 ₽', '0,10 ₽'])
})

test('kopecks that were spent are rounded half up: 96 % of a kopeck is a kopeck', () => {
  const shown = ['0.0096', '0.005', '1.234999999', '1.235', '0'].map((sum) =>
    plain(formatRoubles(sum, 'ru', 'spent')),
  )
  expect(shown).toEqual(['0,01 ₽', '0,01 ₽', '1,23 ₽', '1,24 ₽', '0,00 ₽'])
})

test('a sum too small for kopecks is not shown as nothing', () => {
  expect(plain(formatRoubles('0.009999999', 'ru'))).toBe('< 0,01 ₽')
  expect(plain(formatRoubles('0.004999999', 'ru', 'spent'))).toBe('< 0,01 ₽')
  expect(plain(formatRoubles('0.000000001', 'en'))).toBe('< ₽0.01')
  expect(plain(formatRoubles('0', 'ru'))).toBe('0,00 ₽')
})

test('the sums of a column have as many digits as the finest of them', () => {
  const column = ['-0.0849', '1150', '0.00001']
  const shown = column.map((sum) => plain(formatRoubles(sum, 'ru', digitsOf(column))))
  expect(shown).toEqual(['-0,08490 ₽', '1 150,00000 ₽', '0,00001 ₽'])
  expect(digitsOf([])).toBe(2)
})

test('an amount is read in any typed or pasted form, and anything else is rejected', () => {
  const typed = ['1 000,50', '1\u00a0000.5', '１０００', '00100', '500 ₽', '500 руб.', '0,10']
  expect(typed.map(findTypedRubles)).toEqual(['1000.5', '1000.5', '1000', '100', '500', '500', '0.1'])
  for (const text of ['', '-5', '1e3', '1,000.50', '12345678901', '1.0000000001', 'сто'])
    expect(findTypedRubles(text)).toBeUndefined()
})

test('a comma that may separate thousands is not guessed at', () => {
  for (const text of ['150,000', '1,000', '1 000,500', '１５０,０００', '001,250 ₽'])
    expect(findTypedRubles(text), text).toBeUndefined()
  expect(['0,005', '1,2500', '150.000', '1,5'].map(findTypedRubles)).toEqual(['0.005', '1.25', '150', '1.5'])
})

test('three digits after a point or a comma are more than kopecks, zeros too', () => {
  for (const text of ['150.000 ₽', '150,000', '0,005', '１.０００'])
    expect(isFinerThanKopecks(text), text).toBe(true)
  for (const text of ['150', '150,', '150,5', '150.00', 'x', ''])
    expect(isFinerThanKopecks(text), text).toBe(false)
})

test('the initial value of a field is read as the same sum again', () => {
  for (const sum of ['150', '0.5', '1.125', '0.125', '999999999.999999999'])
    for (const language of ['ru', 'en'] as const)
      expect(findTypedRubles(typedRubles(sum, language)), `${sum} ${language}`).toBe(sum)
  expect(typedRubles('99.5', 'ru')).toBe('99,5')
})

test('a share stays between zero and one', () => {
  expect([shareOf('0.5', '2'), shareOf('3', '2'), shareOf('1', '0'), shareOf('-1', '2')]).toEqual([
    0.25, 1, 0, 0,
  ])
})
