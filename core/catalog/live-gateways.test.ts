import { expect, test } from 'vitest'
import { createLiveGateways } from './live-gateways.ts'

const livesAt = (live: ReturnType<typeof createLiveGateways>, nowMs: number) =>
  Object.fromEntries(live.lives(nowMs))

test('gateways live while their heartbeats change, whatever clock they are written by', () => {
  const live = createLiveGateways()
  expect(live.count(0)).toBe(1)
  live.note({ a: 'a1', b: 'b1', c: 'year 1970' }, 0)
  live.note({ a: 'a2', b: 'b2', c: 'year 1970' }, 2_000)
  expect(live.count(6_000)).toBe(3)
  live.note({ a: 'a3', b: 'b2', c: 'year 1970' }, 4_000)
  expect(live.count(7_000)).toBe(2)
  expect(livesAt(live, 8_001)).toEqual({ a: 'live', b: 'silent', c: 'silent' })
  live.note({ a: 'a4' }, 6_500)
  expect(live.count(8_000)).toBe(1)
})

test('what is there at the first look may be of the dead; who appears later lives', () => {
  const live = createLiveGateways()
  live.note({ a: 'a1', dead: 'x' }, 0)
  expect(livesAt(live, 0)).toEqual({ a: 'unsure', dead: 'unsure' })
  live.note({ a: 'a2', dead: 'x', b: 'b1' }, 100)
  expect(livesAt(live, 100)).toEqual({ a: 'live', dead: 'unsure', b: 'live' })
  live.note({ a: 'a2', dead: 'x', b: 'b1' }, 2_000)
  expect(livesAt(live, 6_001)).toEqual({ a: 'live', dead: 'silent', b: 'live' })
})

test('after a time without checks, only new heartbeats count', () => {
  const live = createLiveGateways()
  live.note({ a: 'a1', b: 'b1' }, 0)
  live.note({ a: 'a2', b: 'b2' }, 1_000)
  live.note({ a: 'a3', b: 'b2' }, 60_000)
  expect(livesAt(live, 60_000)).toEqual({ a: 'live', b: 'unsure' })
})

test('a heartbeat that has not changed for ten minutes is removed', () => {
  const live = createLiveGateways()
  const gone = Array.from({ length: 302 }, (_, n) => live.note({ a: `a${n}`, dead: 'x' }, n * 2_000))
  expect(gone.slice(0, 301).flat()).toEqual([])
  expect(gone[301]).toEqual(['dead'])
})
