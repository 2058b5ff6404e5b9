import { type ReactNode, useEffect, useRef, useState } from 'react'
import { type ApiProblem, asProblem } from '../../api/problem.ts'
import { useRead } from '../../api/queries.ts'
import { useMay } from '../../app/me.ts'
import { useWords } from '../../i18n/language.ts'
import { Button, ButtonLink } from '../../kit/button.tsx'
import { ErrorState } from '../../kit/loaded.tsx'
import { Section } from '../../kit/section.tsx'
import { Skeleton } from '../../kit/skeleton.tsx'
import { RefusalList } from '../keys/refusal-list.tsx'
import { usageWords } from './messages.ts'

const askAgainMs = 4_000
/** Longer than requests run; afterwards the user can check manually. */
const askForMs = 10 * 60_000

/** The rejection of a request without a receipt, or why there is none; a receipt that comes later appears automatically. */
export function Missing({
  requestId,
  onAsk,
}: {
  readonly requestId: string
  /** Reads the receipt again. */
  readonly onAsk: () => unknown
}) {
  const words = useWords(usageWords)
  const mayReadKeys = useMay('keys.read')
  const rejection = useRead('/refusals/:request_id', { params: { request_id: requestId } })
  // While a check is in progress no error is known: the last one stays.
  const [problem, setProblem] = useState<ApiProblem>()
  const latest = rejection.error === null ? undefined : asProblem(rejection.error)
  if (latest !== undefined && latest !== problem) setProblem(latest)
  if (rejection.data !== undefined) {
    const { api_key_id, api_key_name, ...rejected } = rejection.data
    const shown = mayReadKeys ? rejection.data : rejected
    return (
      <Section title={words.rejected} lead={words.rejectedLead} isFlush>
        <RefusalList refusals={[shown]} />
      </Section>
    )
  }
  if (problem === undefined)
    // Without Redis there is no answer; the receipt needs only Postgres.
    return rejection.failureCount > 0 ? <Unsettled onAsk={onAsk} /> : <Skeleton heightRem={14} />
  const askAgain = () => {
    void onAsk()
    void rejection.refetch()
  }
  if (problem.code === 'request_not_settled') return <Unsettled onAsk={askAgain} />
  if (problem.status === 404) return <NoReceipt title={problem.title} text={problem.detail} />
  return <ErrorState problem={problem} onRetry={askAgain} />
}

function Unsettled({ onAsk }: { readonly onAsk: () => unknown }) {
  const words = useWords(usageWords)
  const [isAsking, setAsking] = useState(true)
  const ask = useRef(onAsk)
  useEffect(() => {
    ask.current = onAsk
  }, [onAsk])
  useEffect(() => {
    if (!isAsking) return
    const asking = setInterval(() => ask.current(), askAgainMs)
    const end = setTimeout(() => setAsking(false), askForMs)
    return () => {
      clearInterval(asking)
      clearTimeout(end)
    }
  }, [isAsking])
  function askOn() {
    setAsking(true)
    void onAsk()
  }
  if (isAsking) return <NoReceipt title={words.unsettledTitle} text={words.unsettledText} />
  return (
    <NoReceipt title={words.notSettledTitle} text={words.notSettledText}>
      <Button onClick={askOn}>{words.askOn}</Button>
    </NoReceipt>
  )
}

/** Replaces a receipt that does not exist. */
export function NoReceipt({
  title,
  text,
  children,
}: {
  readonly title: string
  readonly text: string
  readonly children?: ReactNode
}) {
  const words = useWords(usageWords)
  return (
    <div
      role="status"
      className="grid justify-items-center gap-3 rounded-lg border border-line bg-surface px-5 py-12 text-center shadow-raised"
    >
      <h2 className="text-lg">{title}</h2>
      <p className="max-w-prose text-muted">{text}</p>
      {children}
      <ButtonLink href="/app/requests">{words.back}</ButtonLink>
    </div>
  )
}
