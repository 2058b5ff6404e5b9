import type { Answer } from '../../api/calls.ts'
import { useRead } from '../../api/queries.ts'
import { useTimeZone } from '../../api/time-zone.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { Badge } from '../../kit/badge.tsx'
import { DateTime, formatTime } from '../../kit/date-time.tsx'
import { EmptyState, Loaded } from '../../kit/loaded.tsx'
import { Money } from '../../kit/money.tsx'
import { Section } from '../../kit/section.tsx'
import { SkeletonRows } from '../../kit/skeleton.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { billingWords } from './messages.ts'

type Bonus = Answer<'GET /bonuses'>['data'][number]

export function BonusesSection() {
  const words = useWords(billingWords)
  const bonuses = useRead('/bonuses')
  return (
    <Section title={words.bonuses} lead={words.bonusesLead} isFlush>
      <Loaded query={bonuses} skeleton={<SkeletonRows count={2} />}>
        {({ data }) =>
          data.length === 0 ? (
            <EmptyState
              text={words.noBonuses}
              action={<TextLink href="/app/billing">{words.topUpNow}</TextLink>}
            />
          ) : (
            <BonusRows bonuses={data} />
          )
        }
      </Loaded>
    </Section>
  )
}

function BonusRows({ bonuses }: { readonly bonuses: readonly Bonus[] }) {
  const words = useWords(billingWords)
  const language = useLanguage()
  const timeZone = useTimeZone()
  const columns: readonly Column<Bonus>[] = [
    { id: 'kind', head: words.bonus, cell: ({ kind }) => words.bonusKinds[kind] },
    {
      id: 'granted',
      head: words.granted,
      cell: ({ granted_at }) => <DateTime at={granted_at} timeZone={timeZone} parts="date" />,
    },
    {
      id: 'status',
      head: words.status,
      cell: ({ reversed_at }) =>
        reversed_at === null ? (
          <Badge tone="success">{words.active}</Badge>
        ) : (
          <Badge>{words.reversed(formatTime(reversed_at, language, timeZone, 'date'))}</Badge>
        ),
    },
    {
      id: 'amount',
      head: words.amount,
      isNumber: true,
      cell: ({ amount_rub }) => <Money rubles={amount_rub} />,
    },
  ]
  return <Table caption={words.bonuses} columns={columns} rows={bonuses} keyOf={({ id }) => id} />
}
