import { expect, test } from 'vitest'
import { findChoices } from './choices.ts'

const choices = [
  { value: 'b/large', label: 'Large of A' },
  { value: 'a/small', label: 'Small' },
  { value: 'a/large', label: 'Large' },
]
const valuesOf = (typed: string) => findChoices(choices, typed, '').shown.map(({ value }) => value)

test('a choice is found by any part of its name or value, in any case and order of words', () => {
  expect(valuesOf('LARGE')).toEqual(['b/large', 'a/large'])
  expect(valuesOf('large a/')).toEqual(['a/large'])
  expect(valuesOf('  ｓｍａｌｌ ')).toEqual(['a/small'])
  expect(valuesOf('nothing')).toEqual([])
  expect(valuesOf('')).toEqual(['b/large', 'a/small', 'a/large'])
})

test('what begins with the text comes first', () => {
  expect(valuesOf('a/')).toEqual(['a/small', 'a/large'])
  expect(valuesOf('a')).toEqual(['a/small', 'a/large', 'b/large'])
})

test('a hundred of many are shown, the chosen one among them', () => {
  const many = Array.from({ length: 300 }, (_, at) => ({ value: `m/${at}`, label: `Model ${at}` }))
  const { shown, hiddenCount } = findChoices(many, '', 'm/250')
  expect([shown.length, hiddenCount, shown[0]?.value]).toEqual([100, 200, 'm/250'])
  expect(findChoices(many, '', 'm/7').shown[7]?.value).toBe('m/7')
})
