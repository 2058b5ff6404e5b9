import { useRead } from '../../api/queries.ts'
import { useAddressFilters } from '../../kit/address-filters.ts'
import { addDays, dayOf, daysBetween, isDay } from '../../time/days.ts'
import type { usageWords } from './messages.ts'

type Range = 'today' | 'week' | 'month' | 'custom'
type Named = Readonly<Record<'range' | 'from' | 'to' | 'bucket' | 'group', string | undefined>>

/** The chosen period: `from` and `to` are its first and last day. */
export type UsageFilters = {
  readonly range: Range
  readonly from: string
  readonly to: string
  readonly bucket: 'hour' | 'day'
  readonly group: 'model' | 'key'
}

const daysOf: Readonly<Record<Exclude<Range, 'custom'>, number>> = { today: 1, week: 7, month: 30 }

/** The complete filters of the address; today is the server's, in the organization's zone. Pure. */
export function readUsageFilters(named: Partial<Named>, today: string): UsageFilters {
  const range = isRange(named.range) ? named.range : 'month'
  const length = range === 'custom' ? daysOf.month : daysOf[range]
  const begin = addDays(today, 1 - length)
  const isCustom = range === 'custom'
  const bucket = named.bucket === 'hour' || named.bucket === 'day' ? named.bucket : undefined
  return {
    range,
    from: isCustom && named.from !== undefined && isDay(named.from) ? named.from : begin,
    to: isCustom && named.to !== undefined && isDay(named.to) ? named.to : today,
    bucket: bucket ?? (range === 'today' ? 'hour' : 'day'),
    group: named.group === 'key' ? 'key' : 'model',
  }
}

const isRange = (text: string | undefined): text is Range =>
  text === 'custom' || (text !== undefined && Object.hasOwn(daysOf, text))

/** The filters as query parameters: `to` is the day after the last, excluded. Pure. */
export function usageQuery({ from, to, bucket, group }: UsageFilters) {
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
  return useAddressFilters(['range', 'from', 'to', 'bucket', 'group'])
}
