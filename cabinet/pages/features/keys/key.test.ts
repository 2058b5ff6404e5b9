import { expect, test } from 'vitest'
import { type Key, standingOf } from './key.ts'

const endMs = Date.parse('2026-11-22T12:00:00Z')
const standing = (blocked_by: Key['blocked_by'], nowMs = endMs - 1) =>
  standingOf({ blocked_by, expires_at: new Date(endMs).toISOString() }, nowMs)

test('the state of a key is the first obstacle that its owner cannot remove', () => {
  expect(standing([])).toBe('active')
  expect(standing(['balance', 'owner', 'admin'])).toBe('admin')
  expect(standing(['balance', 'owner'])).toBe('owner')
  expect(standing(['balance'])).toBe('balance')
})

test('a key expires exactly at its end, even if it is blocked too', () => {
  expect(standing(['admin'], endMs)).toBe('expired')
})
