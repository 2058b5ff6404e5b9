import { expect, test } from 'vitest'
import { hashSlotOf } from './hash-slot.ts'

test('a tag has the slot of the cluster specification', () => {
  expect(hashSlotOf('123456789')).toBe(0x31c3)
  expect(hashSlotOf('foo')).toBe(12_182)
  expect(hashSlotOf('')).toBe(0)
})
