import { useLanguage, useWords } from '../../i18n/language.ts'
import { formatTime } from '../../kit/date-time.tsx'
import { formatRoubles } from '../../money/rubles.ts'
import { addDays, dayOf, formatDay, isDay, nextStart } from '../../time/days.ts'
import { usageWords } from './messages.ts'
import type { Metric } from './usage-metric.ts'
import type { Usage, UsageRow } from './usage-series.ts'

/** The label of a model or key. */
export function useSeriesName(): (row: UsageRow) => string {
  const words = useWords(usageWords)
  return (row) => row.model ?? row.api_key_name ?? words.noKey
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

/** A value of a metric: rubles, a count, or percent. `digits`: decimal places of rubles. */
export function useMetricText(metric: Metric): (value: string, digits?: 'spent' | 'exact') => string {
  const language = useLanguage()
  const count = new Intl.NumberFormat(language)
  return (value, digits = 'spent') => {
    if (metric === 'cost') return formatRoubles(value, language, digits)
    return metric === 'cache' ? `${count.format(Number(value))}\u00a0%` : count.format(BigInt(value))
  }
}

const hourMs = 3_600_000

/** The address of the requests behind a bar, a series or both. */
export function useRequestsOf(usage: Usage) {
  const { group_by } = usage
  return ({
    start,
    id,
  }: {
    readonly start?: string | undefined
    readonly id?: string | undefined
  }): string => {
    const query = new URLSearchParams({ ...spanOf(start), type: 'request' }) // rejections are in no figure
    if (id !== undefined) query.set(group_by === 'key' ? 'key_id' : 'model', id)
    return `/app/requests?${query}`
  }

  function spanOf(start: string | undefined): Record<string, string> {
    if (start === undefined) return daysOf(usage)
    if (isDay(start)) return { from: start, to: lastDayOf(start, usage) }
    return { from: start, to: new Date(Date.parse(start) + hourMs).toISOString() }
  }
}
