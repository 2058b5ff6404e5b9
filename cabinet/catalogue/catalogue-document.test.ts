import { expect, test } from 'vitest'
import { findSignedJson, signDocument } from './catalogue-document.ts'

const json = '{"model":"demo/echo"}'
const signed = signDocument(json, '7', ['signing key'])

test('a signed document is read with its own key only, and not when a byte of it changed', () => {
  expect(findSignedJson(signed, '7', ['signing key'])).toBe(json)
  expect(findSignedJson(signed, '7', ['another key'])).toBeUndefined()
  expect(findSignedJson(signed.replace('echo', 'free'), '7', ['signing key'])).toBeUndefined()
  for (const text of ['', '.', 'no dot', json])
    expect(findSignedJson(text, '7', ['signing key'])).toBeUndefined()
})

test('it counts in the revision that it was signed for, and in no other: an old price cannot be put back', () => {
  for (const revision of ['6', '8', '77', ''])
    expect(findSignedJson(signed, revision, ['signing key'])).toBeUndefined()
})

test('the first key signs and every key reads, so that keys change without a cut-over', () => {
  expect(signDocument(json, '7', ['signing key', 'next key'])).toBe(signed)
  const next = signDocument(json, '7', ['next key', 'signing key'])
  for (const text of [signed, next]) {
    expect(findSignedJson(text, '7', ['signing key', 'next key'])).toBe(json)
    expect(findSignedJson(text, '7', ['next key', 'signing key'])).toBe(json)
  }
  expect(findSignedJson(signed, '7', ['next key'])).toBeUndefined()
})
