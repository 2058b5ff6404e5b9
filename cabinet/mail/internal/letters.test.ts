import { expect, test } from 'vitest'
import { knownReasons } from './cancellation-reasons.ts'
import { type LetterContent, letterContentSchema, letterKinds } from './letter-content.ts'
import { writeLetter } from './letters.ts'

const link = 'https://app.example.com/verify-email?a=1&b=2#token=t0'
const letters: readonly LetterContent[] = [
  { kind: 'verify_email', vars: { link } },
  { kind: 'already_registered', vars: { loginLink: `${link}/login`, resetLink: `${link}/reset` } },
  { kind: 'reset_password', vars: { link } },
  { kind: 'password_changed', vars: { at: '2026-11-22T21:05:00Z', address: '<203.0.113.7>' } },
  { kind: 'low_balance', vars: { organization: 'a&b', balance: '-1234567.899', threshold: '500', link } },
  {
    kind: 'budget_reached',
    vars: {
      organization: 'a&b',
      budgets: [
        { key: '<k&1>', budget: 'daily', percent: 100, spent: '10', limit: '10' },
        { key: null, budget: 'monthly', percent: 80, spent: '80', limit: '100' },
        { key: 'k2', budget: 'total', percent: 50, spent: '5000.5', limit: '10000' },
      ],
      more: 3,
      link,
    },
  },
  { kind: 'spend_spike', vars: { organization: 'a&b', spent: '400', median: '100', link } },
  { kind: 'notification_test', vars: { organization: 'a&b', link } },
  {
    kind: 'payment_credited',
    vars: { organization: '<a&b>', amount: '1000', welcome: '150', balance: '1150' },
  },
  {
    kind: 'payment_refunded',
    vars: {
      organization: '<a&b>',
      amount: '999.99',
      paymentAmount: '1000',
      paymentAt: '2026-11-22T21:05:00.000Z',
      welcome: '150',
      balance: '-0.01',
    },
  },
  { kind: 'payment_canceled', vars: { organization: '<a&b>', amount: '100', reason: 'insufficient_funds' } },
  {
    kind: 'auto_top_up_stopped',
    vars: { organization: '<a&b>', amount: '1000', last4: '4444', reason: 'card_expired', link },
  },
  {
    kind: 'invitation',
    vars: {
      organization: '<a&b>',
      role: 'developer',
      sender: 'a&b@example.com',
      link: 'https://cabinet.example/app/invitations/1?a=1&b=2',
    },
  },
  { kind: 'totp_reset_planned', vars: { at: '2026-11-22T21:05:00Z', link } },
  { kind: 'email_change', vars: { link } },
  { kind: 'email_change_approval', vars: { email: 'new@example.com', link } },
  { kind: 'email_changed', vars: { email: 'new@example.com' } },
  { kind: 'totp_enabled', vars: {} },
  { kind: 'totp_disabled', vars: {} },
  { kind: 'passkey_added', vars: { name: '<a&b>' } },
  { kind: 'passkey_removed', vars: { name: '<a&b>' } },
]
const all = letters.flatMap((content) =>
  (['ru', 'en'] as const).map((locale) => ({ content, locale, ...writeLetter(content, locale) })),
)

const linksOf = (vars: LetterContent['vars']) =>
  Object.values<unknown>(vars).flatMap((value) =>
    typeof value === 'string' && value.startsWith('https:') ? [value] : [],
  )

test('each kind is written in each language, its links on separate lines and escaped in HTML', () => {
  expect(letters.map(({ kind }) => kind)).toEqual(letterKinds)
  for (const { content, locale, subject, text, html } of all) {
    expect(letterContentSchema.parse(content)).toEqual(content)
    expect(/\p{Script=Cyrillic}/u.test(subject)).toBe(locale === 'ru')
    for (const value of linksOf(content.vars)) {
      expect(text.split('\n')).toContain(value)
      expect(html).toContain(`<a href="${value.replaceAll('&', '&amp;')}">`)
    }
    expect(html).toContain(`lang="${locale}"`)
    expect(html).not.toMatch(/&(?!amp;|lt;|gt;|quot;|#39;)/)
    expect(html).not.toContain('<203')
    expect(subject).not.toMatch(/[\r\n]/)
  }
})

test('times are in Moscow time', () => {
  const [ru, en] = all.filter(({ content }) => content.kind === 'password_changed')
  expect(ru?.text).toContain('23 ноября 2026 г. в 00:05 по московскому времени')
  expect(en?.text).toContain('23 November 2026 at 00:05 Moscow time')
})

test('money is written to the kopeck, as in each language', () => {
  const [ru, en] = all.filter(({ content }) => content.kind === 'low_balance')
  expect(ru?.text).toContain('−1\u00a0234\u00a0567,89\u00a0₽')
  expect(ru?.subject).toBe('Баланс организации a&b ниже 500,00\u00a0₽')
  expect(en?.text).toContain('−₽1,234,567.89')
})

test('an alert about one budget names it in its subject, and several are listed', () => {
  const [budgets] = letters.filter((each) => each.kind === 'budget_reached')
  const [first] = budgets?.vars.budgets ?? []
  if (budgets === undefined || first === undefined) throw new Error('there is no such email')
  const one = { ...budgets, vars: { ...budgets.vars, budgets: [first], more: 0 } }
  expect(writeLetter(one, 'en').subject).toBe('Key <k&1>: 100% of the budget spent')
  const ofAll = { ...one, vars: { ...one.vars, organization: 'acme', budgets: [{ ...first, key: null }] } }
  expect(writeLetter(ofAll, 'en').subject).toBe('Organization acme: 100% of the budget spent')
  expect(writeLetter(one, 'ru').subject).toBe('Ключ <k&1>: потрачено 100 % бюджета')
  const { subject, text } = writeLetter(budgets, 'en')
  expect(subject).toBe('Budgets of a&b')
  expect(text).toContain('The whole organization: 80% of the monthly budget, ₽80.00 of ₽100.00')
  expect(text).toContain('k2: 50% of the total budget, ₽5,000.50 of ₽10,000.00')
  expect(text).toContain('More budgets: 3.')
})

test('an alert is written without a link until the cabinet has noted its address', () => {
  const vars = { organization: 'a', spent: '400', median: '100' }
  expect(writeLetter({ kind: 'spend_spike', vars }, 'en').text).not.toContain('http')
})

test('a link that is none, or that a browser would run, is not written', () => {
  for (const bad of ['javascript:alert(1)', 'verify-email', ''])
    expect(letterContentSchema.safeParse({ kind: 'verify_email', vars: { link: bad } }).success).toBe(false)
})

test('each reason of the provider has its own text, and an unknown one the general text', () => {
  const wordsOf = (reason: string | null) =>
    (['ru', 'en'] as const).map(
      (locale) =>
        writeLetter({ kind: 'payment_canceled', vars: { organization: 'a', amount: '1', reason } }, locale)
          .text,
    )
  const general = wordsOf('never_made')
  for (const reason of [null, 'constructor', 'toString']) expect(wordsOf(reason)).toEqual(general)
  expect(knownReasons).toHaveLength(22)
  const all = [general, ...knownReasons.map(wordsOf)]
  for (const index of [0, 1]) expect(new Set(all.map((each) => each[index])).size).toBe(23)
})

test('an email about a used up balance states that the keys do not work', () => {
  const textOf = (balance: string) =>
    writeLetter(
      { kind: 'payment_credited', vars: { organization: 'a', amount: '1', welcome: null, balance } },
      'en',
    ).text
  for (const balance of ['0', '-0.01']) expect(textOf(balance)).toContain('keys do not work')
  for (const balance of ['0.000000001', '100']) expect(textOf(balance)).not.toContain('keys')
})
