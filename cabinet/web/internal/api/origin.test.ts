import { expect, test } from 'vitest'
import { isSameSite } from './origin.ts'

const appOrigin = 'https://cabinet.example'

test.each([
  ['a program without a session', {}, false, true],
  ['a session, and nothing that says where from', {}, true, false],
  ['our own page', { 'sec-fetch-site': 'same-origin', origin: appOrigin }, true, true],
  ['our own page in an old browser', { origin: appOrigin }, true, true],
  ['our own page without an Origin', { 'sec-fetch-site': 'same-origin' }, true, true],
  ['another site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }, true, false],
  ['another site, without a session', { 'sec-fetch-site': 'cross-site' }, false, false],
  ['another host of the same site', { 'sec-fetch-site': 'same-site', origin: appOrigin }, true, false],
  ['another site in an old browser', { origin: 'https://evil.example' }, false, false],
  ['a form in a sandbox', { origin: 'null' }, true, false],
  ['our host with another port', { origin: `${appOrigin}:8443` }, true, false],
])('a POST from %s', (_, headers, hasSession, expected) => {
  expect(isSameSite('POST', headers, { appOrigin, hasSession })).toBe(expected)
})

test('who only reads may come from anywhere', () => {
  const headers = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
  expect(isSameSite('GET', headers, { appOrigin, hasSession: true })).toBe(true)
})
