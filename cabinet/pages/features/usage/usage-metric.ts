import type { Answer } from '../../api/calls.ts'
import { addRubles } from '../../money/rubles.ts'

/** What the chart shows. */
export const metrics = ['cost', 'requests', 'tokens', 'cache'] as const

export type Metric = (typeof metrics)[number]

type Measured = Answer<'GET /usage'>['totals']

/** Requests, tokens of all classes, or cost of some rows, or the share of input from the cache, in percent: a decimal text. Pure. */
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
  }
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
