import { expect, test } from 'vitest'
import { type Key, standingOf } from './key.ts'

const endMs = Date.parse('2026-11-22T12:00:00Z')
const standing = (blocked_by: Key['blocked_by'], nowMs = endMs - 1) =>
  standingOf({ blocked_by, expires_at: new Date(endMs).toISOString() }, nowMs)

test('a key stands as the first thing says that its owner cannot lift', () => {
  expect(standing([])).toBe('active')
  expect(standing(['balance', 'owner', 'admin'])).toBe('admin')
  expect(standing(['balance', 'owner'])).toBe('owner')
  expect(standing(['balance'])).toBe('balance')
})

test('a key has expired at the very moment of its end, whatever else blocks it', () => {
  expect(standing(['admin'], endMs)).toBe('expired')
})
