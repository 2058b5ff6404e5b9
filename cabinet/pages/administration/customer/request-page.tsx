import { usageWords } from '../../features/usage/messages.ts'
import { Attempts, Priced, RequestFacts } from '../../features/usage/receipt-parts.tsx'
import { useDuration } from '../../features/usage/receipt-words.ts'
import { OutcomeBadge } from '../../features/usage/request-table.tsx'
import { useWords } from '../../i18n/language.ts'
import { ButtonLink } from '../../kit/button.tsx'
import { DateTime } from '../../kit/date-time.tsx'
import { Loaded } from '../../kit/loaded.tsx'
import { Money } from '../../kit/money.tsx'
import { Figure, PageHead, Section } from '../../kit/section.tsx'
import { Skeleton } from '../../kit/skeleton.tsx'
import { useRead } from '../calls.ts'
import type { PageProps } from '../page-props.ts'
import { customerWords } from './messages.ts'

/** The receipt of a request of any organization. */
export function RequestPage({ params: { organization_id = '', request_id = '' } }: PageProps) {
  const words = useWords(usageWords)
  const own = useWords(customerWords)
  const durationOf = useDuration()
  const customer = `/app/customers/${organization_id}`
  const receipt = useRead('/admin/organizations/:organization_id/requests/:request_id', {
    params: { organization_id, request_id },
  })
  return (
    <>
      <PageHead
        title={words.receiptTitle}
        lead={<code className="font-mono text-sm break-all">{request_id}</code>}
        actions={<ButtonLink href={customer}>{own.back}</ButtonLink>}
      />
      <Loaded query={receipt} skeleton={<Skeleton heightRem={40} />}>
        {(known) => (
          <div className="grid gap-6">
            <div className="grid gap-4 lg:grid-cols-3">
              <Figure label={words.costOfIt} value={<Money rubles={known.cost_rub} isExact />} />
              <Figure
                label={words.outcome}
                value={<OutcomeBadge outcome={known.outcome} />}
                note={words.outcomeDetails[known.outcome]}
              />
              <Figure
                label={words.totalTime}
                value={durationOf(known.timings.total_ms)}
                note={<DateTime at={known.created_at} />}
              />
            </div>
            <Section title={words.priced} lead={words.pricedLead} isFlush>
              <Priced {...known} />
            </Section>
            <div className="grid items-start gap-6 lg:grid-cols-2">
              <Section title={words.facts}>
                <RequestFacts {...known} />
              </Section>
              <Section title={words.attempts} lead={words.attemptsLead} isFlush>
                <Attempts {...known} />
              </Section>
            </div>
          </div>
        )}
      </Loaded>
    </>
  )
}
