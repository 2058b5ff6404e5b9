import { addressOf } from '../../api/call.ts'
import { useRead } from '../../api/queries.ts'
import { useMay } from '../../app/me.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { Notice } from '../../kit/badge.tsx'
import { ButtonLink } from '../../kit/button.tsx'
import { nameOfZone } from '../../kit/date-time.tsx'
import { DownloadLink } from '../../kit/download-link.tsx'
import { ExpandableMoney } from '../../kit/expandable-money.tsx'
import { EmptyState, Loaded } from '../../kit/loaded.tsx'
import { Figure, PageHead, Section } from '../../kit/section.tsx'
import { Skeleton } from '../../kit/skeleton.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { compareRubles, formatRoubles } from '../../money/rubles.ts'
import { pageRoutes } from '../../page-routes.ts'
import { formatDay } from '../../time/days.ts'
import { usageWords } from './messages.ts'
import { UsageChart } from './usage-chart.tsx'
import { UsageFilterBar } from './usage-filter-bar.tsx'
import {
  periodErrors,
  previousPeriod,
  readUsageFilters,
  type UsageFilters,
  usageQuery,
  useToday,
  useUsageAddress,
} from './usage-filters.ts'
import { changePercent, type Metric, measure } from './usage-metric.ts'
import type { Usage } from './usage-series.ts'
import { GroupTable, RowTable } from './usage-tables.tsx'
import { useRequestsOf } from './usage-words.ts'

/** Spending by time and by model or key; bars, tables and file contain the same rows. */
export function UsagePage() {
  const words = useWords(usageWords)
  const language = useLanguage()
  const today = useToday()
  return (
    <>
      <PageHead title={pageRoutes['/app/usage'].title[language]} lead={words.lead} />
      <Loaded query={today} skeleton={<Skeleton heightRem={48} />}>
        {(known) => <UsageOf {...known} />}
      </Loaded>
    </>
  )
}

function UsageOf({ today, timeZone }: { readonly today: string; readonly timeZone: string }) {
  const words = useWords(usageWords)
  const language = useLanguage()
  const [named, change] = useUsageAddress()
  const filters = readUsageFilters(named, today)
  const errors = periodErrors(filters, words)
  const isWrong = Object.keys(errors).length > 0
  const query = usageQuery(filters)
  const usage = useRead('/usage', { query }, { enabled: !isWrong })
  return (
    <div className="grid gap-6">
      <div className="flex flex-wrap items-end justify-between gap-4">
        <UsageFilterBar filters={filters} errors={errors} change={change} />
        <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
          <p className="text-sm text-muted">{words.zone(nameOfZone(timeZone, language))}</p>
          {!isWrong && <DownloadLink href={addressOf('/usage.csv', { query })}>{words.csv}</DownloadLink>}
        </div>
      </div>
      {!isWrong && (
        <Loaded query={usage} skeleton={<Skeleton heightRem={40} />}>
          {(known) => <Known usage={known} filters={filters} />}
        </Loaded>
      )}
    </div>
  )
}

function Known({ usage, filters }: { readonly usage: Usage; readonly filters: UsageFilters }) {
  const words = useWords(usageWords)
  const language = useLanguage()
  const mayTry = useMay('keys.write')
  const isEqual = compareRubles(usage.totals.cost_rub, usage.ledger_total_rub) === 0
  return (
    <>
      <Totals usage={usage} filters={filters} />
      {!isEqual && (
        <Notice tone="warning">
          {words.differsFromLedger(formatRoubles(usage.ledger_total_rub, language, 'exact'))}
        </Notice>
      )}
      {usage.data.length === 0 ? (
        <Section title={words.charts[filters.metric]}>
          <EmptyState
            text={words.empty}
            action={mayTry && <ButtonLink href="/app/playground">{words.toPlayground}</ButtonLink>}
          />
        </Section>
      ) : (
        <>
          <UsageChart key={JSON.stringify(filters)} usage={usage} metric={filters.metric} />
          <GroupTable usage={usage} filters={filters} />
          <RowTable usage={usage} />
        </>
      )}
    </>
  )
}

/** The sums of the period, and by how much they differ from those of the period before. */
function Totals({ usage, filters }: { readonly usage: Usage; readonly filters: UsageFilters }) {
  const { totals, ledger_total_rub } = usage
  const { requests, tokens, cost_rub } = totals
  const words = useWords(usageWords)
  const requestsOf = useRequestsOf(usage)
  const number = new Intl.NumberFormat(useLanguage())
  const input = tokens.input + tokens.cached_input + tokens.cache_write
  return (
    <div className="grid gap-4 sm:grid-cols-2 lg:grid-cols-4">
      <Figure
        label={words.spent}
        value={<ExpandableMoney rubles={cost_rub} isSpent />}
        note={
          <>
            {cost_rub === ledger_total_rub && <span className="block">{words.equalsLedger}</span>}
            <Compared metric="cost" totals={totals} filters={filters} />
          </>
        }
      />
      <Figure
        label={words.requestCount}
        value={<TextLink href={requestsOf({})}>{number.format(requests)}</TextLink>}
        note={<Compared metric="requests" totals={totals} filters={filters} />}
      />
      <Figure
        label={words.inputTokens}
        value={number.format(input)}
        {...(tokens.cached_input > 0 && { note: words.cachedNote(number.format(tokens.cached_input)) })}
      />
      <Figure
        label={words.outputTokens}
        value={number.format(tokens.output + tokens.reasoning)}
        {...(tokens.reasoning > 0 && { note: words.reasoningNote(number.format(tokens.reasoning)) })}
      />
    </div>
  )
}

/** How much more or less than in the period before; nothing until that is known. */
function Compared({
  metric,
  totals,
  filters,
}: {
  readonly metric: Metric
  readonly totals: Usage['totals']
  readonly filters: UsageFilters
}) {
  const words = useWords(usageWords)
  const language = useLanguage()
  const before = previousPeriod(filters)
  const { data, isPlaceholderData } = useRead('/usage', {
    query: usageQuery({ ...before, bucket: 'month', group: 'model' }),
  })
  if (data === undefined || isPlaceholderData) return null
  const period = `${formatDay(before.from, language)} — ${formatDay(before.to, language)}`
  const percent = changePercent(Number(measure(metric, [totals])), Number(measure(metric, [data.totals])))
  if (percent === undefined) return words.nothingBefore(period)
  const format = new Intl.NumberFormat(language, { signDisplay: 'exceptZero' })
  return words.compared(format.format(percent), period)
}
