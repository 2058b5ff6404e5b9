import type { Answer } from '../../api/calls.ts'
import { addRubles, compareRubles, nanoOf, rublesOf } from '../../money/rubles.ts'
import { addDays, dayOf } from '../../time/days.ts'

export type Usage = Answer<'GET /usage'>
export type UsageRow = Usage['data'][number]

/** A model or key with its color; `id` is undefined for all the others together. */
export type Series = { readonly id: string | undefined; readonly name: string; readonly rubles: string }

/** One hour or day: the cost of each series in it, in series order. */
export type Bar = {
  readonly start: string
  readonly parts: readonly string[]
  readonly rubles: string
  readonly requests: number
}

/** More colors are unreadable: the most expensive series have their own, the others share one. */
const seriesMax = 8

export const seriesIdOf = (row: UsageRow) => row.model ?? row.api_key_id ?? ''

/** The most expensive first; all beyond the limit are in `other`, the last. Pure. */
export function seriesOf(
  rows: readonly UsageRow[],
  other: string,
  nameOf: (row: UsageRow) => string,
): readonly Series[] {
  const byId = Map.groupBy(rows, seriesIdOf)
  const all = [...byId].map(([id, [first, ...rest]]) => ({
    id,
    name: first === undefined ? id : nameOf(first),
    rubles: addRubles(...[first, ...rest].map((row) => row?.cost_rub ?? '0')),
  }))
  const dearest = all.toSorted((a, b) => compareRubles(b.rubles, a.rubles) || (a.name < b.name ? -1 : 1))
  if (dearest.length <= seriesMax) return dearest
  const shown = dearest.slice(0, seriesMax - 1)
  const rest = dearest.slice(seriesMax - 1).map(({ rubles }) => rubles)
  return [...shown, { id: undefined, name: other, rubles: addRubles(...rest) }]
}

/** Every hour or day of the span, including those without usage. Pure. */
export function barsOf(usage: Usage, series: readonly Series[]): readonly Bar[] {
  const indexOf = new Map(series.map(({ id }, index) => [id, index]))
  const byStart = Map.groupBy(usage.data, (row) => barOf(row, usage))
  return startsOf(usage).map((start) => {
    const parts = series.map(() => 0n)
    const rows = byStart.get(start) ?? []
    for (const row of rows) {
      const index = indexOf.get(seriesIdOf(row)) ?? series.length - 1
      parts[index] = (parts[index] ?? 0n) + nanoOf(row.cost_rub)
    }
    return {
      start,
      parts: parts.map(rublesOf),
      rubles: rublesOf(parts.reduce((sum, part) => sum + part, 0n)),
      requests: rows.reduce((sum, { requests }) => sum + requests, 0),
    }
  })
}

/** The bar of a row: its `start`. Pure. */
export function barOf({ start }: UsageRow, usage: Usage): string {
  return placeOf(start, usage)
}

/** The id of a bar: a day of the zone, or the instant at which an hour begins. */
function placeOf(at: string, { bucket, time_zone }: Usage): string {
  return bucket === 'day' ? dayOf(at, time_zone) : new Date(at).toISOString()
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
  for (let day = placeOf(from, usage); day <= last; day = addDays(day, 1)) days.push(day)
  return days
}

/** Tenths of a power of ten: an axis is at most a third longer than its highest bar. */
const axisSteps = [10n, 12n, 15n, 20n, 25n, 30n, 40n, 50n, 60n, 80n] as const

/** The smallest round number that a sum does not exceed: the top of an axis. Pure. */
export function axisTop(rubles: string): string {
  const nano = nanoOf(rubles)
  for (let tenth = 1n; ; tenth *= 10n)
    for (const step of axisSteps) if (step * tenth >= nano) return rublesOf(step * tenth)
}
