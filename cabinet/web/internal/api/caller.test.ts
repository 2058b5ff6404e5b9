import { describe, expect, test } from 'vitest'
import type { Access, MemberRole, Person } from '../../../api/access.ts'
import { admit } from './caller.ts'

const person: Person = {
  userId: 'u',
  email: 'a@example.com',
  locale: 'ru',
  isConfirmed: true,
  sessionId: 's',
  hasTotp: false,
  mfaAt: null,
}

function told(access: Exclude<Access, { to: 'anyone' }>, who: Person = person, more: object = {}) {
  const membership = { organizationId: 'o', memberRole: 'owner' as MemberRole }
  const answer = admit(access, { stage: 'complete', person: who, membership, ...more })
  return 'problem' in answer ? answer.problem.code : 'let in'
}

describe('an endpoint of a member', () => {
  const write = { to: 'member', right: 'keys.write' } as const

  test.each([
    ['owner', 'keys.write', 'let in'],
    ['developer', 'keys.write', 'let in'],
    ['developer', 'billing.read', 'forbidden'],
    ['accountant', 'keys.write', 'forbidden'],
    ['accountant', 'billing.read', 'let in'],
  ] as const)('%s with %s: %s', (memberRole, right, expected) => {
    expect(told({ to: 'member', right }, person, { membership: { organizationId: 'o', memberRole } })).toBe(
      expected,
    )
  })

  test('is for no caller without an organization', () => {
    expect(told(write, person, { membership: undefined })).toBe('forbidden')
  })

  test('requires a confirmed address only if the contract does', () => {
    const unconfirmed = { ...person, isConfirmed: false }
    expect([told(write, unconfirmed), told({ ...write, confirmed: true }, unconfirmed)]).toEqual([
      'let in',
      'email_not_verified',
    ])
  })
})

test('a pending-MFA session opens nothing but the endpoint that takes the code, and that one takes nothing else', () => {
  const half = { stage: 'password' }
  expect(told({ to: 'person' }, person, half)).toBe('unauthenticated')
  expect([told({ to: 'half_signed_in' }, person, half), told({ to: 'half_signed_in' })]).toEqual([
    'let in',
    'unauthenticated',
  ])
})

test("no user's session opens administration, with or without a second factor", () => {
  const proven = { ...person, hasTotp: true, mfaAt: new Date() }
  expect([told({ to: 'administrator' }), told({ to: 'administrator' }, proven)]).toEqual([
    'forbidden',
    'forbidden',
  ])
})
