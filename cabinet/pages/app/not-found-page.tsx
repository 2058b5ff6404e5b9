import { useWords } from '../i18n/language.ts'
import { ButtonLink } from '../kit/button.tsx'
import { shellWords } from './messages.ts'

export function NotFoundPage() {
  const words = useWords(shellWords)
  return (
    <div className="grid justify-items-center gap-4 py-16 text-center">
      <p aria-hidden="true" className="text-3xl font-semibold text-accent">
        404
      </p>
      <h1 className="text-2xl">{words.notFound}</h1>
      <p className="max-w-prose text-muted">{words.notFoundDetail}</p>
      <ButtonLink href="/" variant="primary">
        {words.toStart}
      </ButtonLink>
    </div>
  )
}
