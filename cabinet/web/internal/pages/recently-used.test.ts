import { expect, test } from 'vitest'
import { createRecentlyUsed } from './recently-used.ts'

test('what is used stays, however much that is used once is kept after it', () => {
  const kept = createRecentlyUsed<string, number>(3)
  kept.set('used', 1)
  for (let at = 0; at < 10; at += 1) {
    kept.set(`once-${at}`, at)
    expect(kept.get('used')).toBe(1)
  }
  expect(['once-6', 'once-7', 'once-8', 'once-9'].map((key) => kept.get(key))).toEqual([
    undefined,
    undefined,
    8,
    9,
  ])
  kept.set('used', 2)
  expect([kept.get('used'), kept.get('once-8')]).toEqual([2, 8])
})
