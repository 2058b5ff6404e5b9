import { rowsOf, useReadList } from '../../api/queries.ts'
import { useTimeZone } from '../../api/time-zone.ts'
import { useWords } from '../../i18n/language.ts'
import { Badge } from '../../kit/badge.tsx'
import { DateTime } from '../../kit/date-time.tsx'
import { EmptyState, Loaded, LoadMore } from '../../kit/loaded.tsx'
import { Money } from '../../kit/money.tsx'
import { Section } from '../../kit/section.tsx'
import { SkeletonRows } from '../../kit/skeleton.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { compareRubles } from '../../money/rubles.ts'
import { billingWords } from './messages.ts'
import { type Payment, paymentTones, useReason } from './payment-words.ts'

const pageSize = 10

export function PaymentsSection() {
  const words = useWords(billingWords)
  const list = useReadList('/payments', { query: { limit: pageSize } })
  return (
    <Section title={words.payments} isFlush>
      <Loaded query={list} skeleton={<SkeletonRows count={3} />}>
        {() => <PaymentRows payments={rowsOf(list)} />}
      </Loaded>
      <LoadMore list={list} />
    </Section>
  )
}

function PaymentRows({ payments }: { readonly payments: readonly Payment[] }) {
  const words = useWords(billingWords)
  const timeZone = useTimeZone()
  if (payments.length === 0)
    return (
      <EmptyState text={words.noPaymentsYet} action={<TextLink href="#top-up">{words.topUpNow}</TextLink>} />
    )
  const columns: readonly Column<Payment>[] = [
    {
      id: 'date',
      head: words.date,
      cell: ({ id, created_at }) => (
        <TextLink href={`/app/billing/return?payment=${id}`}>
          <DateTime at={created_at} timeZone={timeZone} />
        </TextLink>
      ),
    },
    {
      id: 'status',
      head: words.status,
      cell: ({ status }) => <Badge tone={paymentTones[status]}>{words.statuses[status]}</Badge>,
    },
    { id: 'details', head: words.details, cell: (payment) => <Details {...payment} /> },
    {
      id: 'refunded',
      head: words.refunded,
      isNumber: true,
      cell: ({ refunded_rub }) =>
        compareRubles(refunded_rub, '0') === 0 ? '—' : <Money rubles={refunded_rub} />,
    },
    {
      id: 'amount',
      head: words.amount,
      isNumber: true,
      cell: ({ amount_rub }) => <Money rubles={amount_rub} />,
    },
  ]
  return <Table caption={words.payments} columns={columns} rows={payments} keyOf={({ id }) => id} />
}

function Details({ status, cancellation_reason, confirmation_url }: Payment) {
  const words = useWords(billingWords)
  const reasonOf = useReason()
  if (status === 'canceled') return <span className="text-muted">{reasonOf(cancellation_reason)}</span>
  if (confirmation_url !== null) return <TextLink href={confirmation_url}>{words.payNow}</TextLink>
  return '—'
}
