import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { findKey, type KeySecret, writeKey } from '#core/keys/key'
import type { Shard } from '#core/redis/shard'
import { findToken, hashOfToken, hintOf, writeToken } from './management-token.ts'

const pepper = 'p'.repeat(32)
const newToken = () => writeToken(randomBytes(32), pepper)

test('a token is read as it was written, and only with the same pepper', () => {
  const token = newToken()
  expect(token).toMatch(/^mt-gateway-[0-9A-Za-z]{51}$/)
  expect(findToken(token, pepper)).toBe(token)
  expect(findToken(token, 'q'.repeat(32))).toBeUndefined()
})

test('a token with one changed character is rejected without I/O', () => {
  const token = newToken()
  for (let at = 0; at < token.length; at++) {
    const changed = token.slice(0, at) + (token[at] === 'a' ? 'b' : 'a') + token.slice(at + 1)
    expect([at, findToken(changed, pepper)]).toEqual([at, undefined])
  }
  expect(findToken(`${token}a`, pepper)).toBeUndefined()
})

test('no token is an API key, and no API key is a token, under the same pepper', () => {
  const key = writeKey(7 as Shard, randomBytes(32), pepper)
  expect(findToken(key, pepper)).toBeUndefined()
  expect(findKey(newToken(), pepper)).toBeUndefined()
  const disguised = (newToken() as string).replace('mt-gateway-', 'sk-gateway-')
  expect(findKey(disguised, pepper)).toBeUndefined()
  expect(findToken((key as KeySecret).replace('sk-gateway-', 'mt-gateway-'), pepper)).toBeUndefined()
})

test('hash and hint of a token reveal at most 8 of its 51 secret characters', () => {
  const token = newToken()
  expect(hashOfToken(token, pepper)).toHaveLength(32)
  expect(hintOf(token)).toBe(`${token.slice(0, 15)}…${token.slice(-4)}`)
})
