import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { findSignedJson, routeDocumentSchema, signDocument } from './catalog-document.ts'

const routeJson = {
  model: 'demo/echo',
  type: 'chat',
  displayName: 'Echo',
  description: '',
  createdAtS: 1,
  contextLength: null,
  maxOutputTokens: null,
  defaultOutputTokens: 1,
  fallbacks: [],
  attempts: 1,
  backends: [{ name: 'main', provider: 'demo', model: 'echo', priority: 0, weight: 1 }],
  timeouts: { requestMs: 1, firstByteMs: 1, streamIdleMs: 1 },
  parameters: { drop: [], rename: {}, defaults: {} },
  price: null,
  organizations: null,
}

test('a route stored before kinds of input were named takes text; one with a kind of a later version is served, too', () => {
  expect(routeDocumentSchema.parse(routeJson).inputModalities).toEqual(['text'])
  const later = { ...routeJson, inputModalities: ['text', 'smell'] }
  expect(routeDocumentSchema.parse(later).inputModalities).toEqual(['text', 'smell'])
})

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

test('a document of the first release, which signed only the JSON, counts in every revision', () => {
  const ofFirst = `${createHmac('sha256', 'signing key').update(json).digest('base64url')}.${json}`
  expect(findSignedJson(ofFirst, '7', ['signing key'])).toBe(json)
  expect(findSignedJson(ofFirst.replace('echo', 'free'), '7', ['signing key'])).toBeUndefined()
})

test('the first release reads one of today: the signature is of the whole text after the dot, and that is the document', () => {
  const [mac, ...rest] = signed.split('.')
  const text = rest.join('.')
  expect(mac).toBe(createHmac('sha256', 'signing key').update(text).digest('base64url'))
  expect(JSON.parse(text)).toEqual({ revision: '7', ...JSON.parse(json) })
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
