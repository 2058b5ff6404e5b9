import { type ReactNode, useEffect, useState } from 'react'
import { asProblem } from '../../api/problem.ts'
import { useRead } from '../../api/queries.ts'
import { useTimeZone } from '../../api/time-zone.ts'
import type { PageProps } from '../../app/page-group.ts'
import { useWords } from '../../i18n/language.ts'
import { Button, ButtonLink } from '../../kit/button.tsx'
import { CopyButton } from '../../kit/copy-button.tsx'
import { DateTime } from '../../kit/date-time.tsx'
import { Loaded } from '../../kit/loaded.tsx'
import { Money } from '../../kit/money.tsx'
import { Figure, PageHead, Section } from '../../kit/section.tsx'
import { Skeleton } from '../../kit/skeleton.tsx'
import { usageWords } from './messages.ts'
import { Attempts, Priced, RequestFacts } from './receipt-parts.tsx'
import { type Receipt, useDuration } from './receipt-words.ts'
import { isRequestId } from './request-filters.ts'
import { OutcomeBadge } from './request-table.tsx'

const askAgainMs = 4_000
/** Longer than requests run; afterwards the user can check manually. */
const askForMs = 10 * 60_000

/** Everything that explains the cost of a request; the receipt of an unsettled request appears automatically. */
export function ReceiptPage({ params: { request_id = '' } }: PageProps) {
  const words = useWords(usageWords)
  const id = request_id.trim().toLowerCase()
  const canBe = isRequestId(id)
  const receipt = useRead('/requests/:request_id', { params: { request_id: id } }, { enabled: canBe })
  const isMissing = receipt.data === undefined && asProblem(receipt.error).status === 404
  // While a check is in progress no error is known: a skeleton must not flash at every check.
  const [missing, setMissing] = useState<string>()
  if (isMissing && missing !== id) setMissing(id)
  const isUnsettled = isMissing || (missing === id && receipt.data === undefined && receipt.error === null)
  return (
    <>
      <PageHead
        title={words.receiptTitle}
        lead={
          <span className="flex flex-wrap items-center gap-2">
            <code className="min-w-0 font-mono text-sm break-all">{id}</code>
            <CopyButton text={id} label={words.copyRequestId} isCompact />
          </span>
        }
        actions={<ButtonLink href="/app/requests">{words.back}</ButtonLink>}
      />
      {!canBe ? (
        <NoReceipt title={words.noRequest} text={words.noRequestText} />
      ) : isUnsettled ? (
        <Unsettled key={id} onAsk={receipt.refetch} />
      ) : (
        <Loaded query={receipt} skeleton={<Skeleton heightRem={40} />}>
          {(known) => <SettledReceipt {...known} />}
        </Loaded>
      )}
    </>
  )
}

function Unsettled({ onAsk }: { readonly onAsk: () => unknown }) {
  const words = useWords(usageWords)
  const [isAsking, setAsking] = useState(true)
  useEffect(() => {
    if (!isAsking) return
    const asking = setInterval(onAsk, askAgainMs)
    const end = setTimeout(() => setAsking(false), askForMs)
    return () => {
      clearInterval(asking)
      clearTimeout(end)
    }
  }, [isAsking, onAsk])
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
function NoReceipt({
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

function SettledReceipt(receipt: Receipt) {
  const words = useWords(usageWords)
  const durationOf = useDuration()
  const timeZone = useTimeZone()
  const { outcome, cost_rub, timings, created_at } = receipt
  return (
    <div className="grid gap-6">
      <div className="grid gap-4 lg:grid-cols-3">
        <Figure label={words.costOfIt} value={<Money rubles={cost_rub} isExact />} />
        <Figure
          label={words.outcome}
          value={<OutcomeBadge outcome={outcome} />}
          note={words.outcomeDetails[outcome]}
        />
        <Figure
          label={words.totalTime}
          value={durationOf(timings.total_ms)}
          note={<DateTime at={created_at} timeZone={timeZone} />}
        />
      </div>
      <Section title={words.priced} lead={words.pricedLead} isFlush>
        <Priced {...receipt} />
      </Section>
      <div className="grid items-start gap-6 lg:grid-cols-2">
        <Section title={words.facts}>
          <RequestFacts {...receipt} />
        </Section>
        <Section title={words.attempts} lead={words.attemptsLead} isFlush>
          <Attempts {...receipt} />
        </Section>
      </div>
    </div>
  )
}
