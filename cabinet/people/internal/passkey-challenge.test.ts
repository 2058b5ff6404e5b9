import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { issueTimeOf, newChallenge } from './passkey-challenge.ts'

const keys = [randomBytes(32)] as const
const now = Date.parse('2026-11-27T09:00:00.123Z')
const use = ['add', 'a user', 'a session'] as const

test('a challenge contains when it was issued, for five minutes, and to a replica whose clock is a minute behind', () => {
  const challenge = newChallenge(use, now, keys)
  for (const ageMs of [0, 300_000, -60_000])
    expect(issueTimeOf(challenge, use, now + ageMs, keys)).toEqual(new Date(now))
  for (const ageMs of [300_001, -60_001])
    expect(issueTimeOf(challenge, use, now + ageMs, keys)).toBeUndefined()
})

test('a challenge is no challenge for another use, user or session, without our key, or changed', () => {
  const challenge = newChallenge(use, now, keys)
  const others = [['sign-in'], ['add', 'another', 'a session'], ['add', 'a user', 'another']] as const
  for (const other of others) expect(issueTimeOf(challenge, other, now, keys)).toBeUndefined()
  expect(issueTimeOf(challenge, use, now, [randomBytes(32)])).toBeUndefined()
  const changed = Buffer.from(challenge, 'base64url')
  changed.writeUInt8(changed.readUInt8(20) ^ 1, 20)
  for (const text of [changed.toString('base64url'), '', 'e30', challenge.slice(0, 12)])
    expect(issueTimeOf(text, use, now, keys)).toBeUndefined()
})

test('two challenges of one moment differ, so that none can be guessed', () => {
  expect(newChallenge(['sign-in'], now, keys)).not.toBe(newChallenge(['sign-in'], now, keys))
})

test('a challenge of the last key is accepted while keys change', () => {
  const [last] = keys
  const challenge = newChallenge(['sign-in'], now, [last])
  expect(issueTimeOf(challenge, ['sign-in'], now, [randomBytes(32), last])).toEqual(new Date(now))
})
