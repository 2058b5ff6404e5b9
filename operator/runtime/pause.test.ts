import { expect, test } from 'vitest'
import { nextPauseMs, spreadMs } from './pause.ts'

test('pauses double from the least to the longest and stay there', () => {
  const pauses: number[] = []
  for (let last = 0; pauses.length < 9; pauses.push(last))
    last = nextPauseMs(last, { minMs: 500, maxMs: 30_000 })
  expect(pauses).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000])
})

test('a pause is spread over half of it to one and a half of it', () => {
  expect([0, 0.5, 1].map((random) => spreadMs(1000, random))).toEqual([500, 1000, 1500])
})
