import { shellWords } from '../app/messages.ts'
import { useWords } from '../i18n/language.ts'
import { ButtonLink } from '../kit/button.tsx'
import { PageHead } from '../kit/section.tsx'

export function NotFoundPage() {
  const words = useWords(shellWords)
  return (
    <>
      <PageHead title={words.notFound} lead={words.notFoundDetail} />
      <ButtonLink href="/app" variant="primary">
        {words.toStart}
      </ButtonLink>
    </>
  )
}
