import { useRead } from '../../api/queries.ts'
import { useAddressFilters } from '../../kit/address-filters.ts'
import { addDays, dayOf, daysBetween, firstOfMonth, isDay } from '../../time/days.ts'
import type { usageWords } from './messages.ts'
import { type Metric, metrics } from './usage-metric.ts'

type Range = 'today' | 'week' | 'month' | 'this_month' | 'last_month' | 'custom'
const buckets = ['hour', 'day', 'week', 'month'] as const
type Bucket = (typeof buckets)[number]
const groups = ['model', 'key', 'provider', 'tag'] as const
type Group = (typeof groups)[number]
type Named = Readonly<Record<'range' | 'from' | 'to' | 'bucket' | 'group' | 'metric', string | undefined>>

/** The chosen period: `from` and `to` are its first and last day. */
export type UsageFilters = {
  readonly range: Range
  readonly from: string
  readonly to: string
  readonly bucket: Bucket
  readonly group: Group
  readonly metric: Metric
}

type Period = Pick<UsageFilters, 'from' | 'to'>

const periods: Readonly<Record<Exclude<Range, 'custom'>, (today: string) => Period>> = {
  today: (today) => ({ from: today, to: today }),
  week: (today) => ({ from: addDays(today, -6), to: today }),
  month: (today) => ({ from: addDays(today, -29), to: today }),
  this_month: (today) => ({ from: firstOfMonth(today), to: today }),
  last_month: (today) => {
    const to = addDays(firstOfMonth(today), -1)
    return { from: firstOfMonth(to), to }
  },
}

/** The complete filters of the address; today is the server's, in the organization's zone. Pure. */
export function readUsageFilters(named: Partial<Named>, today: string): UsageFilters {
  const range = isRange(named.range) ? named.range : 'month'
  const { from, to } = periods[range === 'custom' ? 'month' : range](today)
  const isCustom = range === 'custom'
  return {
    range,
    from: isCustom && named.from !== undefined && isDay(named.from) ? named.from : from,
    to: isCustom && named.to !== undefined && isDay(named.to) ? named.to : to,
    bucket: buckets.find((known) => known === named.bucket) ?? (range === 'today' ? 'hour' : 'day'),
    group: groups.find((known) => known === named.group) ?? 'model',
    metric: metrics.find((known) => known === named.metric) ?? 'cost',
  }
}

const isRange = (text: string | undefined): text is Range =>
  text === 'custom' || (text !== undefined && Object.hasOwn(periods, text))

/**
 * The period to compare with: as long, and immediately before. The days of this month are compared with the same days of
 * last month, and last month with the one before. Pure.
 */
export function previousPeriod({ range, from, to }: Period & { readonly range: Range }): Period {
  const dayBefore = addDays(from, -1)
  if (range !== 'this_month' && range !== 'last_month')
    return { from: addDays(from, -1 - daysBetween(from, to)), to: dayBefore }
  const first = firstOfMonth(dayBefore)
  const sameDay = addDays(first, daysBetween(from, to))
  return { from: first, to: range === 'last_month' || sameDay > dayBefore ? dayBefore : sameDay }
}

/**
 * The complete days of a period and the days to compare them with: today is not over, so its sums would always look low.
 * `undefined`: no day of the period is complete. Pure.
 */
export function comparedPeriods(
  filters: Period & { readonly range: Range },
  today: string,
): { readonly complete: Period; readonly before: Period } | undefined {
  const { range, from } = filters
  const to = filters.to < today ? filters.to : addDays(today, -1)
  if (to < from) return undefined
  return { complete: { from, to }, before: previousPeriod({ range, from, to }) }
}

/** The filters as query parameters: `to` is the day after the last, excluded. Pure. */
export function usageQuery({
  from,
  to,
  bucket,
  group,
}: Pick<UsageFilters, 'from' | 'to' | 'bucket' | 'group'>) {
  return { from, to: addDays(to, 1), bucket, group_by: group } as const
}

const hourDaysMax = 31
const dayDaysMax = 400

/** What the server would reject, by field. Pure. */
export function periodErrors(
  { from, to, bucket }: UsageFilters,
  words: (typeof usageWords)['ru'],
): { readonly from?: string; readonly to?: string } {
  const length = daysBetween(from, to) + 1
  if (length < 1) return { from: words.periodWrong }
  if (bucket === 'hour' && length > hourDaysMax) return { to: words.periodLongHours }
  return length > dayDaysMax ? { to: words.periodLongDays } : {}
}

/** The zone of the organization's days, and the present day by the server's clock. */
export function useToday() {
  const overview = useRead('/overview')
  const data =
    overview.data === undefined
      ? undefined
      : {
          timeZone: overview.data.time_zone,
          today: dayOf(overview.data.today.from, overview.data.time_zone),
        }
  return { ...overview, data }
}

export function useUsageAddress() {
  return useAddressFilters(['range', 'from', 'to', 'bucket', 'group', 'metric'])
}
