import type { Answer } from '../../api/calls.ts'
import { addRubles } from '../../money/rubles.ts'

/** What the chart shows. */
export const metrics = ['cost', 'requests', 'tokens', 'cache', 'errors', 'p50', 'p95'] as const

export type Metric = (typeof metrics)[number]

type Measured = Pick<
  Answer<'GET /usage'>['totals'],
  'requests' | 'tokens' | 'cost_rub' | 'errors' | 'durations'
>

/** Whether series of it cannot be added up: it is of all of them together. Pure. */
export function isOfAll(metric: Metric): boolean {
  return metric === 'cache' || isDuration(metric)
}

export function isDuration(metric: Metric): metric is 'p50' | 'p95' {
  return metric === 'p50' || metric === 'p95'
}

/** Whether it is counted only since some hour. */
export function isCountedLater(metric: Metric): boolean {
  return metric === 'errors' || isDuration(metric)
}

/**
 * Requests, tokens of all classes, errors or cost of some rows, the share of input from the cache, in percent, or a duration
 * in ms, 0 without completed requests: a decimal text. Pure.
 */
export function measure(metric: Metric, rows: readonly Measured[]): string {
  switch (metric) {
    case 'cost':
      return addRubles(...rows.map(({ cost_rub }) => cost_rub))
    case 'requests':
      return sumOf(rows, ({ requests }) => requests)
    case 'tokens':
      return sumOf(rows, ({ tokens }) => inputOf(tokens) + tokens.output + tokens.reasoning)
    case 'cache':
      return percentOf(
        rows.reduce((sum, { tokens }) => sum + tokens.cached_input, 0),
        rows.reduce((sum, { tokens }) => sum + inputOf(tokens), 0),
      )
    case 'errors':
      return sumOf(rows, ({ errors }) => errors ?? 0)
    case 'p50':
      return percentileOf(rows, 0.5)
    case 'p95':
      return percentileOf(rows, 0.95)
  }
}

/** As the server estimates it for one row. */
function percentileOf(rows: readonly Measured[], share: number): string {
  const byClass = Map.groupBy(
    rows.flatMap(({ durations }) => durations),
    ({ from_ms }) => from_ms,
  )
  const rank = share * Number(sumOfClass([...byClass.values()].flat()))
  let below = 0
  for (const [from, own] of [...byClass].toSorted(([one], [other]) => one - other)) {
    const count = sumOfClass(own)
    const width = (own[0]?.below_ms ?? from) - from
    if (below + count >= rank) return String(Math.round(from + width * ((rank - below) / count)))
    below += count
  }
  return '0'
}

function sumOfClass(classes: Measured['durations']): number {
  return classes.reduce((sum, { requests }) => sum + requests, 0)
}

function sumOf(rows: readonly Measured[], count: (row: Measured) => number): string {
  return String(rows.reduce((sum, row) => sum + count(row), 0))
}

function inputOf({ input, cached_input, cache_write }: Measured['tokens']): number {
  return input + cached_input + cache_write
}

/** With one decimal place. */
function percentOf(part: number, whole: number): string {
  return whole === 0 ? '0' : String(Math.round((part * 1_000) / whole) / 10)
}

/** By how many percent a value exceeds another; `undefined`: there is nothing to compare with. Pure. */
export function changePercent(now: number, before: number): number | undefined {
  return before === 0 ? undefined : Math.round(((now - before) / before) * 100)
}
