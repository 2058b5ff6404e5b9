import { useLanguage, useWords } from '../../i18n/language.ts'
import { useAddressFilters } from '../../kit/address-filters.ts'
import { Badge } from '../../kit/badge.tsx'
import { DayFilter, FilterBar } from '../../kit/filter-fields.tsx'
import { Loaded } from '../../kit/loaded.tsx'
import { Money } from '../../kit/money.tsx'
import { Section } from '../../kit/section.tsx'
import { SkeletonRows } from '../../kit/skeleton.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { formatDay } from '../../time/days.ts'
import { type Answer, useRead } from '../calls.ts'
import { operationWords } from './messages.ts'

type Day = Answer<'GET /admin/operations/days'>['data'][number]

/** What all customers paid, spent and got on each day, newest first. */
export function MoneySection() {
  const words = useWords(operationWords)
  const language = useLanguage()
  const [filters, setFilters] = useAddressFilters(['from', 'to'])
  const days = useRead('/admin/operations/days', { query: filters })
  const sum = (id: Exclude<keyof Day, 'day'>, head: string): Column<Day> => ({
    id,
    head,
    isNumber: true,
    cell: (row) => <Money rubles={row[id]} />,
  })
  const columns: readonly Column<Day>[] = [
    { id: 'day', head: words.day, cell: ({ day }) => formatDay(day, language, true) },
    sum('top_ups_rub', words.topUps),
    sum('charges_rub', words.charges),
    sum('bonuses_rub', words.bonuses),
    sum('refunds_rub', words.refunds),
    sum('adjustments_rub', words.adjustments),
    sum('balances_rub', words.balances),
  ]
  return (
    <Section title={words.money} lead={words.moneyLead} isFlush>
      <FilterBar setCount={Object.keys(filters).length} isWrong={days.error !== null}>
        <DayFilter
          name="from"
          label={words.from}
          value={filters.from}
          onChange={(from) => setFilters({ from })}
        />
        <DayFilter name="to" label={words.to} value={filters.to} onChange={(to) => setFilters({ to })} />
      </FilterBar>
      <Loaded query={days} skeleton={<SkeletonRows count={12} />}>
        {({ data, ledger_rub, accounts_rub }) => (
          <>
            <p className="px-5 pb-3">
              {ledger_rub === accounts_rub ? (
                <Badge tone="success">{words.agree}</Badge>
              ) : (
                <Badge tone="danger">{words.disagree}</Badge>
              )}
            </p>
            <Table
              caption={words.money}
              columns={columns}
              rows={data.toReversed()}
              keyOf={({ day }) => day}
            />
          </>
        )}
      </Loaded>
    </Section>
  )
}
