import { useLanguage, useWords } from '../../i18n/language.ts'
import { formatTime } from '../../kit/date-time.tsx'
import { formatRoubles } from '../../money/rubles.ts'
import { addDays, dayOf, formatDay, isDay, nextStart } from '../../time/days.ts'
import { usageWords } from './messages.ts'
import { isCountedLater, isDuration, type Metric } from './usage-metric.ts'
import type { Usage, UsageRow } from './usage-series.ts'

/** The label of a model or key. */
export function useSeriesName(): (row: UsageRow) => string {
  const words = useWords(usageWords)
  return (row) => {
    if (row.tag !== null) return row.tag === '-' ? words.noTags : row.tag
    if (row.provider !== null) return row.provider === '-' ? words.noProvider : row.provider
    return row.model ?? row.api_key_name ?? (row.api_key_id === null ? words.unknownProvider : words.noKey)
  }
}

/** The label of an hour, a day, or the days of a week or month, in the organization's zone. */
export function useBarName(usage: Usage): (start: string) => string {
  const { time_zone, bucket } = usage
  const language = useLanguage()
  return (start) => {
    const day = isDay(start) ? start : dayOf(start, time_zone)
    const shown = formatDay(day, language)
    if (bucket === 'hour') return `${shown}, ${formatTime(start, language, time_zone, 'time')}`
    const last = lastDayOf(day, usage)
    return last === day ? shown : `${shown} — ${formatDay(last, language)}`
  }
}

/** The first and the last day of the whole period; its only day once. */
export function usePeriodName(usage: Usage): string {
  const language = useLanguage()
  const { from, to } = daysOf(usage)
  const first = formatDay(from, language)
  return from === to ? first : `${first} — ${formatDay(to, language)}`
}

function daysOf({ from, to, time_zone }: Usage): { readonly from: string; readonly to: string } {
  return {
    from: dayOf(from, time_zone),
    to: dayOf(new Date(Date.parse(to) - 1).toISOString(), time_zone),
  }
}

/** The last day of a bar that begins on this day: the last bar ends with the span. */
function lastDayOf(day: string, usage: Usage): string {
  const { bucket } = usage
  const last = daysOf(usage).to
  const own = bucket === 'hour' ? day : addDays(nextStart(day, bucket), -1)
  if (own < last) return own
  return last
}

/** A value of a metric: rubles, a count, percent, or a duration. `digits`: decimal places of rubles. */
export function useMetricText(metric: Metric): (value: string, digits?: 'spent' | 'exact') => string {
  const language = useLanguage()
  const words = useWords(usageWords)
  const count = new Intl.NumberFormat(language)
  const seconds = new Intl.NumberFormat(language, { maximumFractionDigits: 1 })
  return (value, digits = 'spent') => {
    if (metric === 'cost') return formatRoubles(value, language, digits)
    if (isDuration(metric)) {
      const ms = Number(value)
      if (ms === 0 && digits === 'spent') return '—'
      return ms < 1_000 ? words.ms(count.format(ms)) : words.seconds(seconds.format(ms / 1_000))
    }
    return metric === 'cache' ? `${count.format(Number(value))}\u00a0%` : count.format(BigInt(value))
  }
}

const hourMs = 3_600_000

/** Whether a metric was counted in some part of a bar, or of the whole period. */
export function useIsCounted(usage: Usage, metric: Metric): (start: string | undefined) => boolean {
  const { details_since, to, bucket, time_zone, totals } = usage
  return (start) => {
    if (details_since === null || !isCountedLater(metric)) return true
    if (totals.errors === null) return false // it may begin in this hour or the next
    if (start === undefined) return details_since < to
    if (bucket === 'hour') return Date.parse(start) >= Date.parse(details_since)
    return dayOf(details_since, time_zone) <= lastDayOf(start, usage)
  }
}

/** The filter of the log that a metric counts by. */
const filterOf = (metric: Metric): Record<string, string> => {
  if (metric === 'errors') return { type: 'request', status: 'error' }
  return isDuration(metric) ? { outcome: 'completed' } : { type: 'request' } // rejections are in no figure
}

const filterNames = {
  key: 'key_id',
  model: 'model',
  provider: 'provider',
  tag: 'tag',
  model_and_key: 'model',
} as const

/** The address of the requests behind a bar, a series or both, as far as the metric counts them. */
export function useRequestsOf(usage: Usage, metric: Metric = 'cost') {
  const { group_by, details_since } = usage
  return ({
    start,
    id,
  }: {
    readonly start?: string | undefined
    readonly id?: string | undefined
  }): string => {
    const query = new URLSearchParams({ ...countedPart(spanOf(start), id), ...filterOf(metric) })
    if (id !== undefined && id !== '') query.set(filterNames[group_by], id)
    return `/app/requests?${query}`
  }

  /** Without the time before these counts began; with an empty id, only that. Whole if nothing would be left. */
  function countedPart(span: { readonly from: string; readonly to: string }, id: string | undefined) {
    if (details_since === null) return span
    const isProvider = group_by === 'provider' && id !== undefined
    const isCut = isProvider || isCountedLater(metric)
    if (!isCut || isBefore(details_since, span.from) || isBehind(details_since, span.to)) return span
    return isProvider && id === '' ? { ...span, to: details_since } : { ...span, from: details_since }
  }

  /** Whether an instant is before an instant, or before a day began. */
  function isBefore(at: string, begin: string): boolean {
    return isDay(begin) ? dayOf(at, usage.time_zone) < begin : Date.parse(at) < Date.parse(begin)
  }

  /** Whether an instant is at or after an instant, or after a day has ended. */
  function isBehind(at: string, end: string): boolean {
    return isDay(end) ? dayOf(at, usage.time_zone) > end : Date.parse(at) >= Date.parse(end)
  }

  function spanOf(start: string | undefined): { readonly from: string; readonly to: string } {
    if (start === undefined) return daysOf(usage)
    if (isDay(start)) return { from: start, to: lastDayOf(start, usage) }
    return { from: start, to: new Date(Date.parse(start) + hourMs).toISOString() }
  }
}
