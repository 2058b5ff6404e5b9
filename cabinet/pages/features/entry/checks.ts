import type { entryWords } from './messages.ts'

type Words = (typeof entryWords)['ru']

const passwordLengthMin = 12
const passwordLengthMax = 128

/** Checks an address before it is sent; the server checks it again. */
export function emailError(values: FormData, words: Words): string | undefined {
  const email = textOf(values, 'email').trim()
  if (email === '') return words.emailMissing
  return /^[^\s@]+@[^\s@]+$/.test(email) ? undefined : words.emailWrong
}

/** Counts characters as users do. */
export function newPasswordError(values: FormData, words: Words, name = 'password'): string | undefined {
  const { length } = [...textOf(values, name).normalize('NFKC')]
  if (length === 0) return words.passwordMissing
  if (length < passwordLengthMin) return words.passwordShort(passwordLengthMin - length)
  return length > passwordLengthMax ? words.passwordLong : undefined
}

export function textOf(values: FormData, name: string): string {
  return String(values.get(name) ?? '')
}

/** Only fields with errors. */
export function onlyErrors(
  errors: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(errors).flatMap(([name, error]) => (error === undefined ? [] : [[name, error]])),
  )
}
