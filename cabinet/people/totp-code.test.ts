import { expect, test } from 'vitest'
import { openTotpSecret, sealTotpSecret } from './totp-code.ts'

const [one, other] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]

test('an encrypted secret opens for its user and only with its key, wherever in the list that is', () => {
  const sealed = sealTotpSecret('SECRET', 'anna', [one])
  expect(openTotpSecret(sealed, 'anna', [one])).toBe('SECRET')
  expect(openTotpSecret(sealed, 'anna', [other, one])).toBe('SECRET')
  expect(openTotpSecret(sealed, 'boris', [one])).toBeUndefined()
  expect(openTotpSecret(sealed, 'anna', [other])).toBeUndefined()
})

test('what was damaged does not open', () => {
  const sealed = sealTotpSecret('SECRET', 'anna', [one])
  for (const bad of [
    '',
    'x',
    `${sealed.slice(0, -4)}AAAA`,
    sealed.slice(0, -8),
    sealed.replace(/^\w+/, '00000000'),
  ])
    expect(openTotpSecret(bad, 'anna', [one])).toBeUndefined()
})
