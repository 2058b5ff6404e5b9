import type { ReactNode } from 'react'
import { asProblem } from '../api/problem.ts'
import { useWords } from '../i18n/language.ts'
import { Button } from './button.tsx'
import { Icon } from './icon.tsx'
import { kitWords } from './messages.ts'
import { RequestId, useProblemWords } from './problem-note.tsx'
import { PageHead } from './section.tsx'

type Query<Data> = {
  readonly data: Data | undefined
  readonly error: unknown
  readonly failureReason: unknown
  readonly refetch: () => unknown
}

/**
 * Shows the result of a query; before that, `skeleton`, or the error with a retry. Data stays visible while it is read
 * again, and when that fails. `heading`: for a page whose heading comes with the data.
 */
export function Loaded<Data>({
  query,
  heading,
  skeleton,
  children,
}: {
  readonly query: Query<Data>
  readonly heading?: string
  readonly skeleton: ReactNode
  readonly children: (data: Data) => ReactNode
}) {
  if (query.data !== undefined) return children(query.data)
  const problem = query.error ?? query.failureReason
  return (
    <>
      {heading !== undefined && <PageHead title={heading} />}
      {problem === null ? skeleton : <ErrorState problem={problem} onRetry={query.refetch} />}
    </>
  )
}

/**
 * Replaces data that could not be read. Temporary failures are retried automatically; the user can also retry at once.
 */
export function ErrorState({
  problem,
  onRetry,
}: {
  readonly problem: unknown
  /** Omitted if a retry cannot help. */
  readonly onRetry?: () => unknown
}) {
  const words = useWords(kitWords)
  const known = asProblem(problem)
  const texts = useProblemWords(known, words.readFailed)
  const { title, detail } = wordsOf(known.status, texts)
  return (
    <div role="alert" className="grid justify-items-center gap-3 px-5 py-10 text-center">
      <span className="text-danger">
        <Icon name={known.isPassing ? 'offline' : 'warning'} size={24} />
      </span>
      <p className="text-lg font-semibold">{title}</p>
      {detail !== '' && <p className="max-w-prose text-muted">{detail}</p>}
      <RequestId id={known.requestId} />
      {known.status !== 403 && onRetry && (
        <Button variant="secondary" onClick={() => void onRetry()}>
          {words.retry}
        </Button>
      )}
    </div>
  )

  function wordsOf(status: number, said: { readonly title: string; readonly detail: string }) {
    if (status === 403 && known.code === 'forbidden')
      return { title: words.forbidden, detail: words.forbiddenDetail }
    if (status === 404) return { title: words.notFound, detail: words.notFoundDetail }
    if (status === 503 || status === 502) return { title: words.unavailable, detail: words.unavailableDetail }
    return said
  }
}

/** One sentence on why there is nothing, and one action. */
export function EmptyState({ text, action }: { readonly text: string; readonly action?: ReactNode }) {
  return (
    <div className="grid justify-items-center gap-4 px-5 py-8 text-center">
      <p className="max-w-prose text-muted">{text}</p>
      {action}
    </div>
  )
}

/** Loads the rest of a list, a page at a time. */
export function LoadMore({
  list,
}: {
  readonly list: {
    readonly hasNextPage: boolean
    readonly isFetchingNextPage: boolean
    readonly fetchNextPage: () => unknown
  }
}) {
  const words = useWords(kitWords)
  if (!list.hasNextPage) return null
  return (
    <div className="flex justify-center border-t border-line p-4">
      <Button isPending={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
        {words.more}
      </Button>
    </div>
  )
}
