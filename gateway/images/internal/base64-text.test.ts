import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { stringLengthMax } from '../../wire/long-text.ts'
import { base64Length, createBase64Text } from './base64-text.ts'

test.each([
  [0, 1],
  [1, 1],
  [2, 1],
  [1000, 7],
  [48 * 1024, 16 * 1024],
  [48 * 1024 + 1, 64 * 1024],
  [1_000_000, 65_537],
])('%i bytes in parts of %i are encoded as if they were whole', (length, partLength) => {
  const bytes = randomBytes(length)
  const text = createBase64Text()
  for (let at = 0; at < length; at += partLength) text.add(bytes.subarray(at, at + partLength))
  const base64 = text.finish()
  expect(String(base64)).toBe(bytes.toString('base64'))
  expect(base64.length).toBe(base64Length(length))
  expect(typeof base64 === 'string').toBe(base64.length <= stringLengthMax)
})
