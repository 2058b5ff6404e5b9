import { useState } from 'react'
import { asProblem } from '../../api/problem.ts'
import { useRead } from '../../api/queries.ts'
import { useTimeZone } from '../../api/time-zone.ts'
import type { PageProps } from '../../app/page-group.ts'
import { useWords } from '../../i18n/language.ts'
import { ButtonLink } from '../../kit/button.tsx'
import { CopyButton } from '../../kit/copy-button.tsx'
import { DateTime } from '../../kit/date-time.tsx'
import { Loaded } from '../../kit/loaded.tsx'
import { Money } from '../../kit/money.tsx'
import { Figure, PageHead, Section } from '../../kit/section.tsx'
import { Skeleton } from '../../kit/skeleton.tsx'
import { usageWords } from './messages.ts'
import { Missing, NoReceipt } from './missing-receipt.tsx'
import { Attempts, Priced, RequestFacts } from './receipt-parts.tsx'
import { type Receipt, useDuration } from './receipt-words.ts'
import { isRequestId, requestIdIn } from './request-filters.ts'
import { OutcomeBadge } from './request-table.tsx'

/** Everything that explains the cost of a request, or why it has no receipt. */
export function ReceiptPage({ params: { request_id = '' } }: PageProps) {
  const words = useWords(usageWords)
  const id = requestIdIn(request_id)
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
        <Missing key={id} requestId={id} onAsk={receipt.refetch} />
      ) : (
        <Loaded query={receipt} skeleton={<Skeleton heightRem={40} />}>
          {(known) => <SettledReceipt {...known} />}
        </Loaded>
      )}
    </>
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
