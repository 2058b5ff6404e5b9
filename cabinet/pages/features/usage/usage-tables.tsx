import { useState } from 'react'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { Button } from '../../kit/button.tsx'
import { DateTime } from '../../kit/date-time.tsx'
import { Money } from '../../kit/money.tsx'
import { ProgressBar } from '../../kit/progress-bar.tsx'
import { Section } from '../../kit/section.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { addRubles, compareRubles, digitsOf, shareOf } from '../../money/rubles.ts'
import { usageWords } from './messages.ts'
import type { UsageFilters } from './usage-filters.ts'
import { isCountedLater, type Metric, measure } from './usage-metric.ts'
import { barOf, seriesIdOf, type Usage, type UsageRow } from './usage-series.ts'
import { useIsCounted, useMetricText, useRequestsOf, useSeriesName } from './usage-words.ts'

type Group = {
  readonly id: string
  readonly name: string
  readonly requests: number
  readonly tokens: UsageRow['tokens']
  readonly rubles: string
  readonly rows: readonly UsageRow[]
}

/** Each model or key with its usage, the most expensive first. */
export function GroupTable({ usage, filters }: { readonly usage: Usage; readonly filters: UsageFilters }) {
  const words = useWords(usageWords)
  const language = useLanguage()
  const nameOf = useSeriesName()
  const requestsOf = useRequestsOf(usage)
  const groups = groupsOf(usage, nameOf)
  const digits = digitsOf(groups.map(({ rubles }) => rubles))
  const detail = useDetailColumn(usage, filters.metric)
  const columns: readonly Column<Group>[] = [
    {
      id: 'name',
      head: words.heads[filters.group],
      compare: (one, other) => one.name.localeCompare(other.name, language),
      cell: ({ id, name }) => (
        <TextLink href={requestsOf({ id })}>
          <span className="break-all">{name}</span>
        </TextLink>
      ),
    },
    {
      id: 'share',
      head: words.share,
      cell: ({ name, rubles }) => <Share name={name} part={rubles} whole={usage.totals.cost_rub} />,
    },
    ...useCountColumns<Group>(),
    ...detail(({ rows, id }: Group) => ({ rows, id })),
    {
      id: 'cost',
      head: words.cost,
      isNumber: true,
      compare: (one, other) => compareRubles(one.rubles, other.rubles),
      cell: ({ rubles }) => <Money rubles={rubles} digits={digits} />,
    },
  ]
  return (
    <Section title={words.summary[filters.group]} isFlush>
      <Table
        caption={words.summary[filters.group]}
        columns={columns}
        rows={groups}
        keyOf={({ id }) => id}
        isSortable
      />
    </Section>
  )
}

function Share({
  name,
  part,
  whole,
}: {
  readonly name: string
  readonly part: string
  readonly whole: string
}) {
  const words = useWords(usageWords)
  const share = shareOf(part, whole)
  const percent = Math.round(share * 100)
  return (
    <span className="flex items-center gap-2">
      <span className="w-20">
        <ProgressBar share={share} label={words.shareOfAll(name, percent)} tone="accent" />
      </span>
      <span aria-hidden="true" className="text-muted">
        {percent}&nbsp;%
      </span>
    </span>
  )
}

function groupsOf({ data }: Usage, nameOf: (row: UsageRow) => string): readonly Group[] {
  return [...Map.groupBy(data, seriesIdOf)]
    .map(([id, rows]) => ({
      id,
      name: rows[0] === undefined ? id : nameOf(rows[0]),
      requests: rows.reduce((sum, { requests }) => sum + requests, 0),
      tokens: rows.map(({ tokens }) => tokens).reduce(addTokens),
      rubles: addRubles(...rows.map(({ cost_rub }) => cost_rub)),
      rows,
    }))
    .toSorted((a, b) => compareRubles(b.rubles, a.rubles))
}

function addTokens(one: UsageRow['tokens'], other: UsageRow['tokens']): UsageRow['tokens'] {
  return {
    input: one.input + other.input,
    cached_input: one.cached_input + other.cached_input,
    cache_write: one.cache_write + other.cache_write,
    output: one.output + other.output,
    reasoning: one.reasoning + other.reasoning,
  }
}

const rowsAtOnce = 20

/** The rows of the file, the newest first: the values of the bars as numbers. */
export function RowTable({ usage, metric }: { readonly usage: Usage; readonly metric: Metric }) {
  const words = useWords(usageWords)
  const language = useLanguage()
  const nameOf = useSeriesName()
  const requestsOf = useRequestsOf(usage)
  const detail = useDetailColumn(usage, metric)
  const [shown, setShown] = useState(rowsAtOnce)
  const digits = digitsOf(usage.data.map(({ cost_rub }) => cost_rub))
  const columns: readonly Column<UsageRow>[] = [
    {
      id: 'start',
      head: words.time,
      compare: (one, other) => Date.parse(one.start) - Date.parse(other.start),
      cell: ({ start }) => (
        <DateTime at={start} timeZone={usage.time_zone} parts={usage.bucket === 'hour' ? 'both' : 'date'} />
      ),
    },
    {
      id: 'name',
      head: words.heads[usage.group_by === 'model_and_key' ? 'model' : usage.group_by],
      compare: (one, other) => nameOf(one).localeCompare(nameOf(other), language),
      cell: (row) => (
        <TextLink href={requestsOf({ start: barOf(row, usage), id: seriesIdOf(row) })}>
          <span className="break-all">{nameOf(row)}</span>
        </TextLink>
      ),
    },
    ...useCountColumns<UsageRow>(),
    ...detail((row: UsageRow) => ({ rows: [row], id: seriesIdOf(row), start: barOf(row, usage) })),
    {
      id: 'cost',
      head: words.cost,
      isNumber: true,
      compare: (one, other) => compareRubles(one.cost_rub, other.cost_rub),
      cell: ({ cost_rub }) => <Money rubles={cost_rub} digits={digits} />,
    },
  ]
  const newestFirst = usage.data.toSorted((a, b) => Date.parse(b.start) - Date.parse(a.start))
  const rest = newestFirst.length - shown
  return (
    <Section title={words.table} lead={words.tableLead} isFlush>
      <Table
        caption={words.table}
        columns={columns}
        rows={newestFirst}
        rowsMax={shown}
        keyOf={(row) => `${row.start} ${seriesIdOf(row)}`}
        isSortable
      />
      {rest > 0 && (
        <div className="flex justify-center border-t border-line p-4">
          <Button onClick={() => setShown(shown + 10 * rowsAtOnce)}>
            {words.more(Math.min(rest, 10 * rowsAtOnce))}
          </Button>
        </div>
      )}
    </Section>
  )
}

type Place = { readonly rows: readonly UsageRow[]; readonly id: string; readonly start?: string }

/** Errors or a duration, if they are what the chart shows; each leads to the requests that it counts. */
function useDetailColumn(usage: Usage, metric: Metric) {
  const words = useWords(usageWords)
  const textOf = useMetricText(metric)
  const requestsOf = useRequestsOf(usage, metric)
  const isCounted = useIsCounted(usage, metric)
  return <Row,>(placeOf: (row: Row) => Place): readonly Column<Row>[] => {
    if (!isCountedLater(metric)) return []
    const cell = (row: Row) => {
      const { rows, id, start } = placeOf(row)
      if (!isCounted(start) || rows.every(({ errors }) => errors === null)) return words.noData
      return <TextLink href={requestsOf({ id, start })}>{textOf(measure(metric, rows))}</TextLink>
    }
    return [{ id: metric, head: words.metrics[metric], isNumber: true, cell }]
  }
}

/** Requests, and tokens in both directions. */
function useCountColumns<Row extends Pick<UsageRow, 'requests' | 'tokens'>>(): readonly Column<Row>[] {
  const words = useWords(usageWords)
  const { format } = new Intl.NumberFormat(useLanguage())
  return [
    counted('requests', words.requestCount, ({ requests }) => requests),
    counted(
      'input',
      words.inputTokens,
      ({ tokens }) => tokens.input + tokens.cached_input + tokens.cache_write,
    ),
    counted('output', words.outputTokens, ({ tokens }) => tokens.output + tokens.reasoning),
  ]

  function counted(id: string, head: string, countOf: (row: Row) => number): Column<Row> {
    return {
      id,
      head,
      isNumber: true,
      compare: (one, other) => countOf(one) - countOf(other),
      cell: (row) => format(countOf(row)),
    }
  }
}
