import { useWords } from '../i18n/language.ts'
import { Notice } from '../kit/badge.tsx'
import { shellWords } from './messages.ts'

/** Replaces what the server would reject until the user's address is confirmed. */
export function ConfirmFirst() {
  return <Notice tone="warning">{useWords(shellWords).confirmFirst}</Notice>
}
