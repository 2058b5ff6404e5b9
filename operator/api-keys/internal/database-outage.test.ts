import { expect, test } from 'vitest'
import { createDatabaseOutage } from './database-outage.ts'

function createOutage() {
  const clock = { nowMs: 0 }
  const told: string[] = []
  const outage = createDatabaseOutage({
    longMs: 120_000,
    now: () => clock.nowMs,
    onLong: () => told.push('long'),
    onEnd: (keys) => told.push(`end ${[...keys].join(' ')}`),
    onBlocked: (count) => told.push(`blocked ${count}`),
  })
  return { clock, told, outage }
}

test('an outage is long after its time without one answer; that is told once, and so is its end', () => {
  const { clock, told, outage } = createOutage()
  outage.answered()
  outage.failed('a')
  clock.nowMs = 119_999
  outage.failed('a')
  expect(outage.isLong()).toBe(false)
  outage.answered()
  expect(told).toEqual(['end a'])
  clock.nowMs = 120_000
  outage.failed()
  clock.nowMs = 240_000
  outage.failed('b')
  outage.failed('c')
  expect(outage.isLong()).toBe(true)
  outage.answered()
  expect(outage.isLong()).toBe(false)
  expect(told).toEqual(['end a', 'long', 'end b c'])
})

test('an ApiKey that cannot go is new once an outage, and counts until it is gone or the outage ends', () => {
  const { told, outage } = createOutage()
  outage.failed('a')
  expect(['a', 'a', 'b'].map(outage.blocked)).toEqual(['new', 'known', 'new'])
  outage.forget('a')
  outage.answered()
  outage.failed('b')
  expect(outage.blocked('b')).toBe('new')
  expect(told).toEqual(['blocked 1', 'blocked 2', 'blocked 1', 'blocked 0', 'end ', 'blocked 1'])
})
