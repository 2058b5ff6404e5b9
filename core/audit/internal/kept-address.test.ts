import { expect, test } from 'vitest'
import { keptAddress } from './kept-address.ts'

test.each([
  ['administrator', '203.0.113.77', '203.0.113.77'],
  ['administrator', '2001:db8::1', '2001:db8::1'],
  ['person', '203.0.113.77', '203.0.113.0/24'],
  ['token', '203.0.113.77', '203.0.113.0/24'],
  ['job', '2001:db8:12:34:56::1', '2001:db8:12::/48'],
])('of a call by %s from %s, the audit log keeps %s', (kind, address, kept) => {
  expect(keptAddress(kind, address)).toBe(kept)
})
