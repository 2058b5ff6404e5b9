import { expect, test } from 'vitest'
import { findFieldRefusal } from '../api/field-refusal.ts'
import { addressHash } from './address-hash.ts'
import { emailAddress, lastingAddress } from './email-address.ts'

test('an address has one @, no blanks, no line breaks, and at most 254 characters', () => {
  expect(emailAddress.parse('  Anna@example.com ')).toBe('Anna@example.com')
  expect(emailAddress.parse('анна@почта.рф')).toBe('анна@почта.рф')
  const of = (length: number) => `${'a'.repeat(length - '@example.com'.length)}@example.com`
  expect(emailAddress.safeParse(of(254)).success).toBe(true)
  for (const bad of [
    of(255),
    '',
    'anna',
    '@',
    'a@',
    '@b',
    'a@b@c',
    'a b@c.d',
    'a@b.c\n',
    'a@b.c\r\nBcc: d@e.f',
    'a\u0000@b.c',
    'a@b.c.',
    'a@.b.c',
    'a@b..c',
    'a@b%c',
    'a@b?c',
    'a@b.c, d@e.f',
    '<a@b.c>',
    'a\u200b@b.c',
    'a\ud800@b.c',
    'a\u00a0@b.c',
  ])
    expect([bad, emailAddress.safeParse(bad).success]).toEqual([bad, false])
})

test('the hash of a mailbox depends on the pepper', () => {
  const [one, other] = ['p'.repeat(32), 'q'.repeat(32)]
  expect(addressHash('a+1@x.ru', one)).toEqual(addressHash('a@x.ru', one))
  expect(addressHash('a@x.ru', one)).not.toEqual(addressHash('a@x.ru', other))
})

test('an address to register with is not one of a service of mailboxes to be thrown away', () => {
  expect(lastingAddress.parse(' Anna@example.com')).toBe('Anna@example.com')
  const { error } = lastingAddress.safeParse('a@mailinator.com')
  expect(error?.issues.map((issue) => findFieldRefusal(issue, 'ru')?.code)).toEqual(['disposable_email'])
})
