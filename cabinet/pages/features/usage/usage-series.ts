import type { Answer } from '../../api/calls.ts'
import { addRubles, compareRubles, nanoOf, rublesOf } from '../../money/rubles.ts'
import { dayOf, nextStart } from '../../time/days.ts'
import { isOfAll, type Metric, measure } from './usage-metric.ts'

export type Usage = Answer<'GET /usage'>
export type UsageRow = Usage['data'][number]

/** A model or key with its color; `id` is undefined for all the others together. */
export type Series = { readonly id: string | undefined; readonly name: string; readonly value: string }

/** One hour, day, week or month: the value of each series in it, in series order. */
export type Bar = {
  readonly start: string
  readonly parts: readonly string[]
  readonly value: string
  readonly requests: number
}

/** More colors are unreadable: the most expensive series have their own, the others share one. */
const seriesMax = 8

/** The empty one is of requests whose provider was not counted yet. */
export const seriesIdOf = (row: UsageRow) => row.model ?? row.api_key_id ?? row.tag ?? row.provider ?? ''

/** The largest first; all beyond the limit are in `other`, the last. Shares and durations cannot be added up: one series. Pure. */
export function seriesOf(
  rows: readonly UsageRow[],
  other: string,
  nameOf: (row: UsageRow) => string,
  metric: Metric = 'cost',
): readonly Series[] {
  if (isOfAll(metric)) return [{ id: undefined, name: other, value: measure(metric, rows) }]
  const all = [...Map.groupBy(rows, seriesIdOf)].map(([id, own]) => ({
    id,
    name: own[0] === undefined ? id : nameOf(own[0]),
    value: measure(metric, own),
  }))
  const largest = all.toSorted((a, b) => compareRubles(b.value, a.value) || (a.name < b.name ? -1 : 1))
  if (largest.length <= seriesMax) return largest
  const shown = largest.slice(0, seriesMax - 1)
  const rest = largest.slice(seriesMax - 1).map(({ value }) => value)
  return [...shown, { id: undefined, name: other, value: addRubles(...rest) }]
}

/** Every hour, day, week or month of the span, including those without usage. Pure. */
export function barsOf(usage: Usage, series: readonly Series[], metric: Metric = 'cost'): readonly Bar[] {
  const indexOf = new Map(series.map(({ id }, index) => [id, index]))
  const byStart = Map.groupBy(usage.data, (row) => barOf(row, usage))
  return startsOf(usage).map((start) => {
    const rows = byStart.get(start) ?? []
    const bySeries = Map.groupBy(rows, (row) => indexOf.get(seriesIdOf(row)) ?? series.length - 1)
    return {
      start,
      parts: series.map((_, index) => measure(metric, bySeries.get(index) ?? [])),
      value: measure(metric, rows),
      requests: rows.reduce((sum, { requests }) => sum + requests, 0),
    }
  })
}

/** The bar of a row: its `start`. Pure. */
export function barOf({ start }: UsageRow, usage: Usage): string {
  return placeOf(start, usage)
}

/** The id of a bar: its first day in the zone, or the instant at which an hour begins. */
function placeOf(at: string, { bucket, time_zone }: Usage): string {
  return bucket === 'hour' ? new Date(at).toISOString() : dayOf(at, time_zone)
}

const hourMs = 3_600_000

function startsOf(usage: Usage): readonly string[] {
  const { from, to, bucket } = usage
  const [beginMs, endMs] = [Date.parse(from), Date.parse(to)]
  if (bucket === 'hour')
    return Array.from({ length: Math.max(0, (endMs - beginMs) / hourMs) }, (_, index) =>
      new Date(beginMs + index * hourMs).toISOString(),
    )
  const days: string[] = []
  const last = placeOf(new Date(endMs - 1).toISOString(), usage)
  for (let day = placeOf(from, usage); day <= last; day = nextStart(day, bucket)) days.push(day)
  return days
}

/** Tenths of a power of ten: an axis is at most a third longer than its highest bar. */
const axisSteps = [10n, 12n, 15n, 20n, 25n, 30n, 40n, 50n, 60n, 80n] as const

/** The smallest round number that a value does not exceed: the top of an axis. Counts have whole ones. Pure. */
export function axisTop(value: string, least = '0'): string {
  const [nano, leastNano] = [nanoOf(value), nanoOf(least)]
  for (let tenth = 1n; ; tenth *= 10n)
    for (const step of axisSteps)
      if (step * tenth >= nano && step * tenth >= leastNano) return rublesOf(step * tenth)
}
