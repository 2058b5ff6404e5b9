import { useWords } from '../i18n/language.ts'
import { Button } from '../kit/button.tsx'
import { shellWords } from './messages.ts'

/** Replaces a page that could not be rendered. */
export function PageFailed() {
  const words = useWords(shellWords)
  return (
    <div role="alert" className="grid justify-items-start gap-4">
      <h1 className="text-2xl">{words.pageFailed}</h1>
      <p className="max-w-prose text-muted">{words.pageFailedDetail}</p>
      <Button variant="primary" onClick={() => location.reload()}>
        {words.reload}
      </Button>
    </div>
  )
}
