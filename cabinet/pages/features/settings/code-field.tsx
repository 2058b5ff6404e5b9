import { TextField } from '../../kit/fields.tsx'
import { useWords } from '../../words/language.ts'
import { settingsWords } from '../../words/settings.ts'
import { textOf } from '../entry/checks.ts'

/** Six digits of the app; people type blanks into them. */
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
