import { expect, test } from 'vitest'
import { findFallbackCircle, findFallbackCircles } from './fallback-circle.ts'

function circle(model: string, fallbacks: Readonly<Record<string, readonly string[]>>) {
  return findFallbackCircle(model, (each) => fallbacks[each] ?? [])
}

test('the shortest cycle is found from each model on it, and from no other', () => {
  const fallbacks = { a: ['b'], b: ['c', 'd'], c: ['d'], d: ['a'], outside: ['a'] }
  expect(circle('a', fallbacks)).toEqual(['a', 'b', 'd', 'a'])
  expect(circle('d', fallbacks)).toEqual(['d', 'a', 'b', 'd'])
  expect(circle('outside', fallbacks)).toBeUndefined()
  expect(circle('a', { a: ['a'] })).toEqual(['a', 'a'])
  expect(circle('a', {})).toBeUndefined()
})

test('a cycle of thousands is given up early', () => {
  let asked = 0
  const found = findFallbackCircle('0', (model) => {
    asked += 1
    return [String((Number(model) + 1) % 10_000)]
  })
  expect(found).toBeUndefined()
  expect(asked).toBeLessThan(100)
})

test('each cycle is named once, whatever leads to it, and no more than ten of them', () => {
  const fallbacks = new Map([
    ['outside', ['a']],
    ['a', ['gone', 'b']],
    ['b', ['a']],
    ['alone', ['alone']],
  ])
  expect(findFallbackCircles(fallbacks)).toEqual([
    ['a', 'b', 'a'],
    ['alone', 'alone'],
  ])
  const many = Array.from({ length: 11 }, (_, n) => [`${n}`, [`${n}`]] as const)
  expect(findFallbackCircles(new Map(many))).toHaveLength(10)
})
