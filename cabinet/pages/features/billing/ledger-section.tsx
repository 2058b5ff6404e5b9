import { addressOf } from '../../api/call.ts'
import type { Answer } from '../../api/calls.ts'
import { rowsOf, useReadList } from '../../api/queries.ts'
import { useTimeZone } from '../../api/time-zone.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { useAddressFilters } from '../../kit/address-filters.ts'
import { Button } from '../../kit/button.tsx'
import { DateTime, nameOfZone } from '../../kit/date-time.tsx'
import { DownloadLink } from '../../kit/download-link.tsx'
import { SelectField } from '../../kit/fields.tsx'
import { DayFilter, FilterBar } from '../../kit/filter-fields.tsx'
import { WithErrors } from '../../kit/form.tsx'
import { EmptyState, Loaded, LoadMore } from '../../kit/loaded.tsx'
import { Money } from '../../kit/money.tsx'
import { Section } from '../../kit/section.tsx'
import { SkeletonRows } from '../../kit/skeleton.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { compareRubles, digitsOf } from '../../money/rubles.ts'
import { addDays, isDay } from '../../time/days.ts'
import { billingWords } from './messages.ts'

type Row = Answer<'GET /ledger'>['data'][number]

/** The filters of its address. */
export const filterNames = ['kind', 'from', 'to'] as const
const pageSize = 25

/** Every ledger entry with the balance after it, filtered by the address. */
export function LedgerSection() {
  const words = useWords(billingWords)
  const language = useLanguage()
  const zone = nameOfZone(useTimeZone(), language)
  const [filters, change] = useAddressFilters(filterNames)
  const { query, error } = readFilters(filters)
  const list = useReadList('/ledger', { query: { ...query, limit: pageSize } }, { enabled: !error })
  const isFiltered = Object.keys(filters).length > 0
  const clear = () => change({ kind: undefined, from: undefined, to: undefined })
  return (
    <Section
      title={words.ledger}
      lead={`${words.ledgerLead} ${words.zone(zone)}.`}
      actions={!error && <DownloadLink href={addressOf('/ledger.csv', { query })}>{words.csv}</DownloadLink>}
      isFlush
    >
      <WithErrors errors={error ? { from: words.periodWrong } : {}}>
        <FilterBar
          setCount={[filters.kind, filters.from ?? filters.to].filter(Boolean).length}
          isWrong={error}
        >
          <KindFilter value={filters.kind} onChange={(kind) => change({ kind })} />
          <DayFilter
            name="from"
            label={words.from}
            value={filters.from}
            onChange={(from) => change({ from })}
          />
          <DayFilter name="to" label={words.to} value={filters.to} onChange={(to) => change({ to })} />
        </FilterBar>
      </WithErrors>
      {error ? (
        <EmptyState
          text={words.periodWrongHint}
          action={<Button onClick={clear}>{words.clearFilters}</Button>}
        />
      ) : (
        <>
          <Loaded query={list} skeleton={<SkeletonRows count={8} />}>
            {() => (
              <LedgerRows
                rows={rowsOf(list)}
                isWhole={!list.hasNextPage}
                empty={
                  isFiltered ? (
                    <EmptyState
                      text={words.noRowsFound}
                      action={<Button onClick={clear}>{words.clearFilters}</Button>}
                    />
                  ) : (
                    <EmptyState
                      text={words.noRows}
                      action={<TextLink href="/app/billing">{words.topUpNow}</TextLink>}
                    />
                  )
                }
              />
            )}
          </Loaded>
          <LoadMore list={list} />
        </>
      )}
    </Section>
  )
}

function KindFilter({
  value,
  onChange,
}: {
  readonly value: string | undefined
  readonly onChange: (kind: string) => void
}) {
  const words = useWords(billingWords)
  return (
    <SelectField
      name="kind"
      label={words.kind}
      value={value ?? ''}
      onChange={({ target }) => onChange(target.value)}
    >
      <option value="">{words.allKinds}</option>
      {Object.entries(words.kinds).map(([kind, name]) => (
        <option key={kind} value={kind}>
          {name}
        </option>
      ))}
    </SelectField>
  )
}

function LedgerRows({
  rows,
  isWhole,
  empty,
}: {
  readonly rows: readonly Row[]
  /** Only then an order of all of them can be shown. */
  readonly isWhole: boolean
  readonly empty: React.ReactNode
}) {
  const words = useWords(billingWords)
  const timeZone = useTimeZone()
  if (rows.length === 0) return empty
  const digits = digitsOf(rows.map(({ amount_rub }) => amount_rub))
  const columns: readonly Column<Row>[] = [
    { id: 'operation', head: words.operation, line: 1, cell: (row) => <Operation {...row} /> },
    {
      id: 'date',
      head: words.date,
      line: 2,
      compare: (one, other) => Number(one.seq) - Number(other.seq),
      cell: ({ created_at }) => <DateTime at={created_at} timeZone={timeZone} />,
    },
    { id: 'about', head: words.about, line: 2, cell: (row) => <About {...row} /> },
    {
      id: 'amount',
      head: words.amount,
      isNumber: true,
      line: 1,
      compare: (one, other) => compareRubles(one.amount_rub, other.amount_rub),
      cell: ({ amount_rub }) => <Movement rubles={amount_rub} digits={digits} />,
    },
    {
      id: 'after',
      head: words.after,
      isNumber: true,
      line: 2,
      cell: ({ balance_after_rub }) => <Money rubles={balance_after_rub} />,
    },
  ]
  return (
    <Table
      caption={words.ledger}
      columns={columns}
      rows={rows}
      keyOf={({ seq }) => seq}
      isSortable={isWhole}
    />
  )
}

/** The kind of entry, with a link to its request or payment. */
function Operation({ kind, ref_id }: Row) {
  const words = useWords(billingWords)
  const href = {
    charge: `/app/requests/${ref_id}`,
    adjust: `/app/requests/${ref_id}`,
    top_up: paymentAt(ref_id),
  }
  const name = words.kinds[kind]
  return kind in href ? <TextLink href={href[kind as keyof typeof href]}>{name}</TextLink> : name
}

/** The model and the key of a charge; empty for other entries. */
function About({ model, api_key_name }: Row) {
  const about = [model, api_key_name].filter((part) => part !== null).join(' · ')
  return about === '' ? '' : <bdi className="break-all text-muted">{about}</bdi>
}

const paymentAt = (id: string) => `/app/billing/return?payment=${id}`

/** Outgoing amounts unchanged, incoming ones with a plus sign. */
function Movement({ rubles, digits }: { readonly rubles: string; readonly digits: number }) {
  const isIn = compareRubles(rubles, '0') > 0
  return (
    <span className={isIn ? 'font-medium text-success' : undefined}>
      {isIn && '+'}
      <Money rubles={rubles} digits={digits} />
    </span>
  )
}

type Filters = { readonly [Name in (typeof filterNames)[number]]?: string }

/** The filters of the address as query parameters; invalid ones are left out. */
function readFilters({ kind, from, to }: Filters) {
  const [first, last] = [from, to].map((day) => (day !== undefined && isDay(day) ? day : undefined))
  const query = {
    ...(kind !== undefined && kind in billingWords.ru.kinds && { kind: kind as Row['kind'] }),
    ...(first !== undefined && { from: first }),
    ...(last !== undefined && { to: addDays(last, 1) }), // through the end of that day
  }
  return { query, error: first !== undefined && last !== undefined && first > last }
}
