import { expect, test } from 'vitest'
import { connectionCap } from './connection-cap.ts'

test('clients take at most half of the files other than the reserve, and never more than is wanted', () => {
  expect(connectionCap(16_384, 1024)).toBe(384)
  expect(connectionCap(16_384, 1_048_576)).toBe(16_384)
  expect(connectionCap(16_384, undefined)).toBe(16_384)
  expect(connectionCap(16_384, 100)).toBe(1)
})
