import { expect, test } from 'vitest'
import { createLiveGateways } from './live-gateways.ts'

test('gateways count while their heartbeats change, whatever clock they are written by', () => {
  const live = createLiveGateways()
  expect(live.count(0)).toBe(1)
  live.note({ a: 'a1', b: 'b1', c: 'year 1970' }, 0)
  expect(live.count(6_000)).toBe(3)
  live.note({ a: 'a2', b: 'b2', c: 'year 1970' }, 4_000)
  expect(live.count(7_000)).toBe(2)
  live.note({ a: 'a3' }, 8_000)
  expect(live.count(8_000)).toBe(1)
})

test('a heartbeat that has not changed for ten minutes is removed', () => {
  const live = createLiveGateways()
  expect(live.note({ a: 'a1', dead: 'x' }, 0)).toEqual([])
  expect(live.note({ a: 'a2', dead: 'x' }, 600_000)).toEqual([])
  expect(live.note({ a: 'a3', dead: 'x' }, 600_001)).toEqual(['dead'])
})
