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
import { autoTopUpWords } from './auto-top-up-messages.ts'
import { billingWords } from './messages.ts'
import { type Payment, paymentTones, useReason } from './payment-words.ts'

const pageSize = 10

export function PaymentsSection() {
  const words = useWords(billingWords)
  const list = useReadList('/payments', { query: { limit: pageSize } })
  return (
    <Section title={words.payments} isFlush>
      <Loaded query={list} skeleton={<SkeletonRows count={3} />}>
        {() => <PaymentRows payments={rowsOf(list)} isWhole={!list.hasNextPage} />}
      </Loaded>
      <LoadMore list={list} />
    </Section>
  )
}

function PaymentRows({
  payments,
  isWhole,
}: {
  readonly payments: readonly Payment[]
  /** Only then an order of all of them can be shown. */
  readonly isWhole: boolean
}) {
  const words = useWords(billingWords)
  const timeZone = useTimeZone()
  if (payments.length === 0)
    return (
      <EmptyState
        text={words.noPaymentsYet}
        action={<TextLink href="/app/billing">{words.topUpNow}</TextLink>}
      />
    )
  const columns: readonly Column<Payment>[] = [
    {
      id: 'date',
      head: words.date,
      line: 1,
      compare: (one, other) => Date.parse(one.created_at) - Date.parse(other.created_at),
      cell: ({ id, created_at }) => (
        <TextLink href={`/app/billing/return?payment=${id}`}>
          <DateTime at={created_at} timeZone={timeZone} />
        </TextLink>
      ),
    },
    {
      id: 'status',
      head: words.status,
      line: 2,
      cell: ({ status }) => <Badge tone={paymentTones[status]}>{words.statuses[status]}</Badge>,
    },
    {
      id: 'details',
      head: words.details,
      line: 2,
      cell: (payment) => (hasDetails(payment) ? <Details {...payment} /> : null),
    },
    {
      id: 'refunded',
      head: words.refunded,
      isNumber: true,
      line: 2,
      compare: (one, other) => compareRubles(one.refunded_rub, other.refunded_rub),
      cell: ({ refunded_rub }) =>
        compareRubles(refunded_rub, '0') === 0 ? null : (
          <>
            <span className="@3xl:hidden">{words.refunded}: </span>
            <Money rubles={refunded_rub} />
          </>
        ),
    },
    {
      id: 'amount',
      head: words.amount,
      isNumber: true,
      line: 1,
      compare: (one, other) => compareRubles(one.amount_rub, other.amount_rub),
      cell: ({ amount_rub }) => <Money rubles={amount_rub} />,
    },
  ]
  return (
    <Table
      caption={words.payments}
      columns={columns}
      rows={payments}
      keyOf={({ id }) => id}
      isSortable={isWhole}
    />
  )
}

const hasDetails = ({ status, confirmation_url, is_automatic }: Payment) =>
  status === 'canceled' || confirmation_url !== null || is_automatic

/** Whether no user made it, why it failed, or where it can still be paid. */
function Details({ status, cancellation_reason, confirmation_url, is_automatic }: Payment) {
  const words = useWords(billingWords)
  const { automatic } = useWords(autoTopUpWords)
  const reasonOf = useReason()
  if (status === 'canceled')
    return (
      <span className="text-muted">
        {is_automatic && `${automatic}: `}
        {reasonOf(cancellation_reason)}
      </span>
    )
  if (is_automatic) return <span className="text-muted">{automatic}</span>
  if (confirmation_url === null) return null
  return (
    // Away from the link of the line above, so that fingers find it.
    <span className="inline-block @max-3xl:pt-3">
      <TextLink href={confirmation_url}>{words.payNow}</TextLink>
    </span>
  )
}
