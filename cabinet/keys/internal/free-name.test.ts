import { expect, test } from 'vitest'
import { suggestName } from './free-name.ts'

test('a free name needs no other, and a taken one gets the first free number', () => {
  expect(suggestName('ci', ['ci 2', 'web'])).toBeUndefined()
  expect(suggestName('ci', ['ci'])).toBe('ci 2')
  expect(suggestName('CI', ['ci', 'Ci 2', 'ci 4'])).toBe('CI 3')
  expect(suggestName('Бот', ['БОТ'])).toBe('Бот 2')
})

test('the suggestion of the longest name is not longer', () => {
  const name = 'x'.repeat(253)
  expect(suggestName(name, [name])).toBe(`${'x'.repeat(251)} 2`)
})
