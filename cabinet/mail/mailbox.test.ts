import { expect, test } from 'vitest'
import { mailboxOf } from './mailbox.ts'

test('a mailbox is one, however its address is written', () => {
  const same = (one: string, other: string) => expect(mailboxOf(one)).toBe(mailboxOf(other))
  same('A@x.ru', 'a+1@X.RU')
  same('a.n.n.a+spam@gmail.com', 'anna@googlemail.com')
  same('a@пример.рф', 'a@xn--e1afmkfd.xn--p1ai')
  same('anna@ｇmail.com', 'anna@gmail.com')
  for (const domain of ['ya.ru', 'yandex.com', 'yandex.by', 'yandex.kz', 'narod.ru'])
    same('an.na+x@yandex.ru', `an-na@${domain}`)
  same('a@protonmail.com', 'a@pm.me')
  expect(mailboxOf('a@mail.ru')).not.toBe(mailboxOf('a@bk.ru'))
  expect(mailboxOf('a.b@x.ru')).not.toBe(mailboxOf('ab@x.ru'))
  expect(mailboxOf('+a@x.ru')).not.toBe(mailboxOf('+b@x.ru'))
})
