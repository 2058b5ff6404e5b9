import { expect, test } from 'vitest'
import { findFallbackCircle } from './fallback-circle.ts'

function circle(model: string, fallbacks: Readonly<Record<string, readonly string[]>>) {
  return findFallbackCircle(model, (each) => fallbacks[each] ?? [])
}

test('the shortest way round is found from each model that lies on it, and from no other', () => {
  const fallbacks = { a: ['b'], b: ['c', 'd'], c: ['d'], d: ['a'], outside: ['a'] }
  expect(circle('a', fallbacks)).toEqual(['a', 'b', 'd', 'a'])
  expect(circle('d', fallbacks)).toEqual(['d', 'a', 'b', 'd'])
  expect(circle('outside', fallbacks)).toBeUndefined()
  expect(circle('a', { a: ['a'] })).toEqual(['a', 'a'])
  expect(circle('a', {})).toBeUndefined()
})

test('a circle of thousands is given up early', () => {
  let asked = 0
  const found = findFallbackCircle('0', (model) => {
    asked += 1
    return [String((Number(model) + 1) % 10_000)]
  })
  expect(found).toBeUndefined()
  expect(asked).toBeLessThan(100)
})
