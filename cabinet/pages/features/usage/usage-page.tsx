import { addressOf } from '../../api/call.ts'
import { useRead } from '../../api/queries.ts'
import { useTimeZone } from '../../api/time-zone.ts'
import { useMay } from '../../app/me.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { Notice } from '../../kit/badge.tsx'
import { ButtonLink } from '../../kit/button.tsx'
import { formatTime, nameOfZone } from '../../kit/date-time.tsx'
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
import { RejectionsSection, rejectionsAt, useRejections } from './rejections-section.tsx'
import { UsageChart } from './usage-chart.tsx'
import { UsageFilterBar } from './usage-filter-bar.tsx'
import {
  comparedPeriods,
  periodErrors,
  readUsageFilters,
  type UsageFilters,
  usageQuery,
  useToday,
  useUsageAddress,
} from './usage-filters.ts'
import { changePercent, isCountedLater, isDuration, type Metric, measure } from './usage-metric.ts'
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
  const durations = isDuration(filters.metric) ? ({ durations: 'true' } as const) : {}
  const usage = useRead('/usage', { query: { ...query, ...durations } }, { enabled: !isWrong })
  const days = [...new Set([filters.from, filters.to])].map((day) => formatDay(day, language, true))
  return (
    <div className="grid gap-6">
      <div className="flex flex-wrap items-end justify-between gap-4">
        <UsageFilterBar filters={filters} errors={errors} change={change} />
        <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
          <div className="hidden font-medium print:block">{days.join(' — ')}</div>
          <p className="text-sm text-muted">{words.zone(nameOfZone(timeZone, language))}</p>
          {!isWrong && <DownloadLink href={addressOf('/usage.csv', { query })}>{words.csv}</DownloadLink>}
        </div>
      </div>
      {!isWrong && (
        <Loaded query={usage} skeleton={<Skeleton heightRem={40} />}>
          {(known) => <Known usage={known} filters={filters} today={today} />}
        </Loaded>
      )}
    </div>
  )
}

type Shown = { readonly usage: Usage; readonly filters: UsageFilters; readonly today: string }

function Known({ usage, filters, today }: Shown) {
  const words = useWords(usageWords)
  const language = useLanguage()
  const mayTry = useMay('keys.write')
  const isEqual = compareRubles(usage.totals.cost_rub, usage.ledger_total_rub) === 0
  return (
    <>
      <Totals usage={usage} filters={filters} today={today} />
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
          {usage.group_by === 'tag' ? (
            <ChartOfModels key={JSON.stringify(filters)} filters={filters} />
          ) : (
            <UsageChart key={JSON.stringify(filters)} usage={usage} metric={filters.metric} />
          )}
          <CountedSince usage={usage} filters={filters} />
          <GroupTable usage={usage} filters={filters} />
          <RowTable usage={usage} metric={filters.metric} />
        </>
      )}
      <RejectionsSection days={{ from: filters.from, to: filters.to }} />
    </>
  )
}

/** Bars of tags would count a key with two tags twice, so these are by model. */
function ChartOfModels({ filters }: Pick<Shown, 'filters'>) {
  const words = useWords(usageWords)
  const durations = isDuration(filters.metric) ? ({ durations: 'true' } as const) : {}
  const query = { ...usageQuery({ ...filters, group: 'model' }), ...durations }
  return (
    <>
      <Loaded query={useRead('/usage', { query })} skeleton={<Skeleton heightRem={24} />}>
        {(usage) => <UsageChart usage={usage} metric={filters.metric} />}
      </Loaded>
      <p className="text-sm text-muted">{words.tagsMean}</p>
    </>
  )
}

/** What errors and durations count, and since when, if the period began before. */
function CountedSince({
  usage: { details_since, from },
  filters: { metric, group, ...days },
}: Omit<Shown, 'today'>) {
  const words = useWords(usageWords)
  const language = useLanguage()
  const timeZone = useTimeZone()
  const isShort = details_since !== null && from < details_since
  return (
    <div className="grid gap-2 text-sm text-muted">
      {metric === 'errors' && (
        <p>
          {words.errorsMean} <Rejected from={days.from} to={days.to} />
        </p>
      )}
      {isDuration(metric) && <p>{words.durationsMean}</p>}
      {isShort && (isCountedLater(metric) || group === 'provider') && (
        <Notice tone="neutral">
          {words.countedSince(formatTime(details_since, language, timeZone, 'both'))}
        </Notice>
      )}
    </div>
  )
}

/** The rejections of the period that are still kept. */
function Rejected(days: Pick<UsageFilters, 'from' | 'to'>) {
  const words = useWords(usageWords)
  const counts = useRejections(days)
  return counts && <TextLink href={rejectionsAt(days)}>{words.keptRejections(counts.count)}</TextLink>
}

/** The sums of the period, and by how much they differ from those of the period before. */
function Totals({ usage, filters, today }: Shown) {
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
            <Compared metric="cost" totals={totals} filters={filters} today={today} />
          </>
        }
      />
      <Figure
        label={words.requestCount}
        value={<TextLink href={requestsOf({})}>{number.format(requests)}</TextLink>}
        note={<Compared metric="requests" totals={totals} filters={filters} today={today} />}
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

type OfMetric = {
  readonly metric: Metric
  readonly totals: Usage['totals']
  readonly filters: UsageFilters
}

/** How much more or less than in the period before; nothing if no day of the period is complete. */
function Compared({ today, ...shown }: OfMetric & { readonly today: string }) {
  const periods = comparedPeriods(shown.filters, today)
  return periods && <Change {...shown} {...periods} />
}

/** An empty line until both sums are known, so that less moves then. */
function Change({
  metric,
  totals,
  filters,
  complete,
  before,
}: OfMetric & NonNullable<ReturnType<typeof comparedPeriods>>) {
  const words = useWords(usageWords)
  const language = useLanguage()
  const isWhole = complete.to === filters.to
  const ofComplete = useSums(complete, !isWhole)
  const now = isWhole ? totals : ofComplete.sums
  const earlier = useSums(before)
  if (ofComplete.isError || earlier.isError) return null
  if (now === undefined || earlier.sums === undefined) return <span aria-busy="true">{'\u00a0'}</span>
  const ends = [formatDay(before.from, language), formatDay(before.to, language)] as const
  const percent = changePercent(Number(measure(metric, [now])), Number(measure(metric, [earlier.sums])))
  if (percent === undefined) return words.nothingBefore(...ends)
  const format = new Intl.NumberFormat(language, { signDisplay: 'exceptZero' })
  const text = words.compared(format.format(percent), ...ends)
  return isWhole ? text : `${text}, ${words.withoutToday}`
}

/** The sums of these days, once they are known. */
function useSums(days: Pick<UsageFilters, 'from' | 'to'>, isNeeded = true) {
  const query = usageQuery({ ...days, bucket: 'month', group: 'model' })
  const { data, isPlaceholderData, isError } = useRead('/usage', { query }, { enabled: isNeeded })
  return { sums: isPlaceholderData ? undefined : data?.totals, isError }
}
