import { useWords } from '../../i18n/language.ts'
import { TextField } from '../../kit/fields.tsx'
import { textOf } from '../entry/checks.ts'
import { settingsWords } from './messages.ts'

/** The app's six digits; users may type blanks between them. */
export function CodeField() {
  const words = useWords(settingsWords)
  return (
    <TextField
      name="code"
      label={words.code}
      inputMode="numeric"
      autoComplete="one-time-code"
      maxLength={32}
    />
  )
}

export function codeError(values: FormData, words: (typeof settingsWords)['ru']): string | undefined {
  return /^\s*(?:\d\s*){6}$/.test(textOf(values, 'code')) ? undefined : words.codeMissing
}
