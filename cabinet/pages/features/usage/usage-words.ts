import { useLanguage, useWords } from '../../i18n/language.ts'
import { formatTime } from '../../kit/date-time.tsx'
import { dayOf, formatDay, isDay } from '../../time/days.ts'
import { usageWords } from './messages.ts'
import type { Usage, UsageRow } from './usage-series.ts'

/** The label of a model or key. */
export function useSeriesName(): (row: UsageRow) => string {
  const words = useWords(usageWords)
  return (row) => row.model ?? row.api_key_name ?? words.noKey
}

/** The label of an hour or a day, in the organization's zone. */
export function useBarName({ time_zone, bucket }: Usage): (start: string) => string {
  const language = useLanguage()
  return (start) => {
    const day = isDay(start) ? start : dayOf(start, time_zone)
    const shown = formatDay(day, language)
    return bucket === 'day' ? shown : `${shown}, ${formatTime(start, language, time_zone, 'time')}`
  }
}

const hourMs = 3_600_000

/** The address of the requests behind a bar, a series or both. */
export function useRequestsOf({ from, to, group_by, time_zone }: Usage) {
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
    if (start === undefined)
      return {
        from: dayOf(from, time_zone),
        to: dayOf(new Date(Date.parse(to) - 1).toISOString(), time_zone),
      }
    if (isDay(start)) return { from: start, to: start }
    return { from: start, to: new Date(Date.parse(start) + hourMs).toISOString() }
  }
}
