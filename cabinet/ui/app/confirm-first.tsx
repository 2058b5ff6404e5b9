import { Notice } from '../kit/badge.tsx'
import { useWords } from '../words/language.ts'
import { shellWords } from '../words/shell.ts'

/** In place of what would be refused to those whose address is not confirmed. */
export function ConfirmFirst() {
  return <Notice tone="warning">{useWords(shellWords).confirmFirst}</Notice>
}
