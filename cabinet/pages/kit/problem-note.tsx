import type { ApiProblem } from '../api/problem.ts'
import { useWords } from '../i18n/language.ts'
import { CopyButton } from './copy-button.tsx'
import { Icon } from './icon.tsx'
import { kitWords } from './messages.ts'

/** The error of an action, next to its control. */
export function ProblemNote({
  problem,
  fallback,
}: {
  readonly problem: ApiProblem
  readonly fallback: string
}) {
  const { title, detail } = useProblemWords(problem, fallback)
  return (
    <div role="alert" className="flex gap-3 rounded-md bg-danger-soft p-4 text-danger">
      <Icon name="warning" />
      <div className="grid min-w-0 gap-1">
        <p className="font-medium">{title}</p>
        {detail !== '' && <p className="text-sm text-ink">{detail}</p>}
        {isWorthAnId(problem) && <RequestId id={problem.requestId} />}
      </div>
    </div>
  )
}

/** The id that support asks for. */
export function RequestId({ id }: { readonly id: string | undefined }) {
  const words = useWords(kitWords)
  if (id === undefined) return null
  return (
    <p className="flex flex-wrap items-center gap-x-2 text-sm text-muted">
      <span>
        {words.requestId} <code className="font-mono text-xs break-all">{id}</code>
      </span>
      <CopyButton text={id} label={words.copyRequestId} />
    </p>
  )
}

/** A wrong password needs no support; a failure on our side does. */
function isWorthAnId({ status }: ApiProblem): boolean {
  return status >= 500 || status === 403 || status === 404 || status === 409
}

/** Title and explanation; the server's text if it sent one. */
export function useProblemWords(
  problem: ApiProblem,
  fallback: string,
): { readonly title: string; readonly detail: string } {
  const words = useWords(kitWords)
  if (problem.code === 'network') return { title: words.unreachable, detail: words.unreachableDetail }
  if (problem.code === 'rate_limited')
    return { title: problem.title, detail: words.retryAfter(problem.retryAfterS ?? 60) }
  return { title: problem.title || fallback, detail: problem.detail }
}
