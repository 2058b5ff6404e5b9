import { expect, test } from 'vitest'
import { findSignedJson, signDocument } from './catalogue-document.ts'

test('a signed document is read with its own key only, and not when a byte of it changed', () => {
  const signed = signDocument('{"model":"demo/echo"}', 'signing key')
  expect(findSignedJson(signed, 'signing key')).toBe('{"model":"demo/echo"}')
  expect(findSignedJson(signed, 'another key')).toBeUndefined()
  expect(findSignedJson(signed.replace('echo', 'free'), 'signing key')).toBeUndefined()
  for (const text of ['', '.', 'no dot', '{"model":"demo/echo"}'])
    expect(findSignedJson(text, 'signing key')).toBeUndefined()
})
