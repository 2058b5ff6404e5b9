import { expect, test } from 'vitest'
import { senderSetting, smtpUrlSetting } from './mail-settings.ts'

test('a mail server is a URL, with a login and a port if it has them', () => {
  expect(smtpUrlSetting.parse('smtp://mail.example.com')).toEqual({
    host: 'mail.example.com',
    port: 587,
    isSecure: false,
    login: undefined,
  })
  expect(smtpUrlSetting.parse('smtps://us%40er:p%3Ass@[::1]:2465')).toEqual({
    host: '::1',
    port: 2465,
    isSecure: true,
    login: { user: 'us@er', password: 'p:ss' },
  })
  for (const bad of [
    'mail.example.com',
    'http://mail.example.com',
    'smtp://',
    'smtp://u%zz:p@mail.example.com',
  ])
    expect(smtpUrlSetting.safeParse(bad).success).toBe(false)
})

test('a sender is an address, with a name if it has one', () => {
  expect(senderSetting.parse('no-reply@example.com')).toEqual({ name: '', address: 'no-reply@example.com' })
  expect(senderSetting.parse('Шлюз <a@b.ru>')).toEqual({ name: 'Шлюз', address: 'a@b.ru' })
  for (const bad of ['', 'nobody', 'a@b, c@d', 'x\r\nBcc: y <a@b>', 'a <b@c> d'])
    expect(senderSetting.safeParse(bad).success).toBe(false)
})
