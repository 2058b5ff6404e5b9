import { expect, test } from 'vitest'
import { findFieldRefusal } from '../api/field-refusal.ts'
import { newPassword } from './new-password.ts'

function refusalOf(password: string) {
  const { error } = newPassword.safeParse(password)
  return error?.issues.map((issue) => findFieldRefusal(issue, 'en')?.code ?? issue.code)
}

test('a new password has 12 to 128 characters, counted as people count', () => {
  const words = 'correct horse battery staple '
  for (const fine of ['correct hors', words.repeat(5).slice(0, 128), '🔑🗝🔒🔓🔐🚪🪪🧷📎🖇📌✂'])
    expect([fine, refusalOf(fine)]).toEqual([fine, undefined])
  for (const short of ['x'.repeat(11), '🔑'.repeat(11), '']) expect(refusalOf(short)).toEqual(['too_small'])
  expect(refusalOf(words.repeat(5).slice(0, 129))).toEqual(['too_big'])
})

test('a new password is none of the most common ones, in whatever case or width', () => {
  for (const common of ['qwertyuiop123', 'Password1234', 'PASSWORD1234', 'ｐａｓｓｗｏｒｄ１２３４'])
    expect([common, refusalOf(common)]).toEqual([common, ['common_password']])
  expect(refusalOf('password1234 of mine')).toBeUndefined()
})

test('a new password is no repetition of up to six characters', () => {
  for (const repeated of [
    ' '.repeat(12),
    'x'.repeat(128),
    ' \u0000'.repeat(6),
    'abcabcabcabca',
    '123456123456',
    '🔑🗝'.repeat(6),
  ])
    expect([repeated, refusalOf(repeated)]).toEqual([repeated, ['repeated_password']])
  expect(refusalOf(`${'ab'.repeat(6)}ac`)).toBeUndefined()
})
