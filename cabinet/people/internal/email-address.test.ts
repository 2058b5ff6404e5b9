import { expect, test } from 'vitest'
import { addressHash, normalisedAddress } from '../address-hash.ts'
import { emailAddress, newPassword } from './email-address.ts'

test('an address has one @, no blanks, no line breaks, and at most 254 characters', () => {
  expect(emailAddress.parse('  Anna@example.com ')).toBe('Anna@example.com')
  expect(emailAddress.parse('анна@почта.рф')).toBe('анна@почта.рф')
  const of = (length: number) => `${'a'.repeat(length - '@example.com'.length)}@example.com`
  expect(emailAddress.safeParse(of(254)).success).toBe(true)
  for (const bad of [
    ...[
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
    ],
    ...['a@b.c.', 'a@.b.c', 'a@b..c', 'a@b%c', 'a@b?c'],
    ...['a@b.c, d@e.f', '<a@b.c>', 'a\u200b@b.c', 'a\ud800@b.c', 'a\u00a0@b.c'],
  ])
    expect([bad, emailAddress.safeParse(bad).success]).toEqual([bad, false])
})

test('a mailbox is one, however its address is written', () => {
  const same = (one: string, other: string) => expect(normalisedAddress(one)).toBe(normalisedAddress(other))
  same('A@x.ru', 'a+1@X.RU')
  same('a.n.n.a+spam@gmail.com', 'anna@googlemail.com')
  same('a@пример.рф', 'a@xn--e1afmkfd.xn--p1ai')
  same('anna@ｇmail.com', 'anna@gmail.com')
  for (const domain of ['ya.ru', 'yandex.com', 'yandex.by', 'yandex.kz', 'narod.ru'])
    same('an.na+x@yandex.ru', `an-na@${domain}`)
  same('a@protonmail.com', 'a@pm.me')
  expect(normalisedAddress('a@mail.ru')).not.toBe(normalisedAddress('a@bk.ru'))
  expect(normalisedAddress('a.b@x.ru')).not.toBe(normalisedAddress('ab@x.ru'))
  expect(normalisedAddress('+a@x.ru')).not.toBe(normalisedAddress('+b@x.ru'))
})

test('the hash of a mailbox depends on the pepper', () => {
  const [one, other] = ['p'.repeat(32), 'q'.repeat(32)]
  expect(addressHash('a+1@x.ru', one)).toEqual(addressHash('a@x.ru', one))
  expect(addressHash('a@x.ru', one)).not.toEqual(addressHash('a@x.ru', other))
})

test('a new password has 12 to 128 characters, counted as people count', () => {
  for (const fine of ['x'.repeat(12), 'x'.repeat(128), '🔑'.repeat(12), ' \u0000'.repeat(6)])
    expect(newPassword.safeParse(fine).success).toBe(true)
  for (const bad of ['x'.repeat(11), 'x'.repeat(129), '🔑'.repeat(11), ''])
    expect(newPassword.safeParse(bad).success).toBe(false)
})
