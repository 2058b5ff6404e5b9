import { expect, test } from 'vitest'
import { createDatabaseOutage } from './database-outage.ts'

test('an outage is long after two minutes without one answer; that is told once, and so is its end', () => {
  let nowMs = 0
  const told: string[] = []
  const outage = createDatabaseOutage({
    now: () => nowMs,
    onLong: () => told.push('long'),
    onEnd: () => told.push('end'),
  })
  outage.answered()
  outage.failed()
  nowMs = 119_999
  outage.failed()
  expect(outage.isLong()).toBe(false)
  outage.answered()
  expect(told).toEqual(['end'])
  nowMs = 120_000
  outage.failed()
  nowMs = 240_000
  outage.failed()
  outage.failed()
  expect(outage.isLong()).toBe(true)
  outage.answered()
  expect(outage.isLong()).toBe(false)
  expect(told).toEqual(['end', 'long', 'end'])
})
