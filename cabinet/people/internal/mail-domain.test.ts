import { expect, test } from 'vitest'
import { countedDomainOf, isDisposable } from './mail-domain.ts'
import { majorMailServices } from './major-mail-services.ts'

test('mailboxes to be thrown away are known by their domain, and below it, in whatever spelling', () => {
  for (const email of ['a@mailinator.com', 'a@MAILINATOR.com', 'a@x.y.mailinator.com', 'a@ｍailinator.com'])
    expect([email, isDisposable(email)]).toEqual([email, true])
  for (const email of [
    'a@example.com',
    'a@mailinator.example',
    'a@пример.рф',
    'a@mailinator.com.example.org',
  ])
    expect([email, isDisposable(email)]).toEqual([email, false])
})

test('no large mail service is taken for one of mailboxes to be thrown away', () => {
  expect([...majorMailServices].filter((domain) => isDisposable(`a@${domain}`))).toEqual([])
})

test.each([
  ['a@x.example.co.uk', 'example.co.uk'],
  ['a@b.c.Example.RU', 'example.ru'],
  ['a@почта.пример.рф', 'xn--e1afmkfd.xn--p1ai'],
  ['a@me.github.io', 'github.io'],
  ['a@p-1.example', 'p-1.example'],
  ['a@localhost', 'localhost'],
  ['a@gmail.com', null],
  ['a@Mail.RU', null],
])('the trials of %s are counted by %s', (email, domain) => {
  expect(countedDomainOf(email)).toBe(domain)
})
