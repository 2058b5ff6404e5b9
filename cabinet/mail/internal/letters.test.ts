import { expect, test } from 'vitest'
import { type LetterContent, letterContentSchema, letterKinds } from './letter-content.ts'
import { writeLetter } from './letters.ts'

const link = 'https://app.example.com/verify-email?a=1&b=2#token=t0'
const letters: readonly LetterContent[] = [
  { kind: 'verify_email', vars: { link } },
  { kind: 'already_registered', vars: { loginLink: `${link}/login`, resetLink: `${link}/reset` } },
  { kind: 'reset_password', vars: { link } },
  { kind: 'password_changed', vars: { at: '2026-11-22T21:05:00Z', address: '<203.0.113.7>' } },
  { kind: 'low_balance', vars: { organization: 'a&b', balance: '-1234567.899', threshold: '500' } },
  { kind: 'totp_enabled', vars: {} },
  { kind: 'totp_disabled', vars: {} },
]
const all = letters.flatMap((content) =>
  (['ru', 'en'] as const).map((locale) => ({ content, locale, ...writeLetter(content, locale) })),
)

test('each kind is written in each language, its links on lines of their own and escaped in HTML', () => {
  expect(letters.map(({ kind }) => kind)).toEqual(letterKinds)
  for (const { content, locale, subject, text, html } of all) {
    expect(letterContentSchema.parse(content)).toEqual(content)
    expect(/\p{Script=Cyrillic}/u.test(subject)).toBe(locale === 'ru')
    for (const value of Object.values(content.vars).filter((each) => each.startsWith('https:'))) {
      expect(text.split('\n')).toContain(value)
      expect(html).toContain(`<a href="${value.replaceAll('&', '&amp;')}">`)
    }
    expect(html).toContain(`lang="${locale}"`)
    expect(html).not.toMatch(/&(?!amp;|lt;|gt;|quot;|#39;)/)
    expect(html).not.toContain('<203')
    expect(subject).not.toMatch(/[\r\n]/)
  }
})

test('an instant is told in Moscow’s time', () => {
  const [ru, en] = all.filter(({ content }) => content.kind === 'password_changed')
  expect(ru?.text).toContain('23 ноября 2026 г. в 00:05 по московскому времени')
  expect(en?.text).toContain('23 November 2026 at 00:05, Moscow time')
})

test('money is told to the kopeck, as each language writes it', () => {
  const [ru, en] = all.filter(({ content }) => content.kind === 'low_balance')
  expect(ru?.text).toContain('−1\u00a0234\u00a0567,89\u00a0₽')
  expect(ru?.subject).toBe('Баланс организации a&b ниже 500,00\u00a0₽')
  expect(en?.text).toContain('−₽1,234,567.89')
})

test('a link that is none, or that a browser would run, is not written', () => {
  for (const bad of ['javascript:alert(1)', 'verify-email', ''])
    expect(letterContentSchema.safeParse({ kind: 'verify_email', vars: { link: bad } }).success).toBe(false)
})
