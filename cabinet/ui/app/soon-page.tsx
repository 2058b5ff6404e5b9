import { PageHead } from '../kit/section.tsx'
import { useWords } from '../words/language.ts'
import { shellWords } from '../words/shell.ts'

/** Where a page will be. */
export function SoonPage() {
  const words = useWords(shellWords)
  return <PageHead title={words.soon} />
}
