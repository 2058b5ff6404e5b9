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
  })
  return { clock, told, outage }
}

test('an outage is long after its time without one response; that is reported once, and its end is, too', () => {
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

test('an ApiKey that is gone is not looked at again when the outage ends', () => {
  const { told, outage } = createOutage()
  for (const key of ['a', 'b']) outage.failed(key)
  outage.forget('a')
  outage.answered()
  expect(told).toEqual(['end b'])
})
