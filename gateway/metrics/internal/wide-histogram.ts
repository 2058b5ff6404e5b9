import { createLabelSeries, type Labels } from './label-series.ts'

/*
 * prom-client takes 100 ms and more of the event loop to write some hundred series of a histogram. Here each keeps the
 * beginning of its lines and counts by itself.
 */

/** A histogram with hundreds of series. */
export type WideHistogram<Label extends string> = {
  readonly name: string
  readonly help: string
  readonly labelNames: readonly Label[]
  observe(labels: Labels<Label>, value: number): void
  /** Drops the series whose labels are gone, with all that they have counted. */
  forget(isGone: (labels: Labels<Label>) => boolean): void
  /** In Prometheus's text format. */
  text(): string
}

type Series = { readonly head: string; readonly counts: number[]; sum: number; count: number }

/** @param config.buckets upper bounds, ascending. */
export function wideHistogram<Label extends string>(config: {
  readonly name: string
  readonly help: string
  readonly labelNames: readonly Label[]
  readonly buckets: readonly number[]
}): WideHistogram<Label> {
  const { name, help, labelNames, buckets } = config
  const series = createLabelSeries<Label, Series>(labelNames, (labels) => ({
    head: labelNames.map((label) => `${label}="${escaped(labels[label])}"`).join(','),
    counts: buckets.map(() => 0),
    sum: 0,
    count: 0,
  }))

  function textOf({ head, counts, sum, count }: Series): string {
    let text = ''
    let below = 0
    counts.forEach((here, at) => {
      below += here
      text += `${name}_bucket{le="${buckets[at]}",${head}} ${below}\n`
    })
    return `${text}${name}_bucket{le="+Inf",${head}} ${count}\n${name}_sum{${head}} ${sum}\n${name}_count{${head}} ${count}\n`
  }

  return {
    name,
    help,
    labelNames,
    observe(labels, value) {
      const kept = series.of(labels)
      const at = buckets.findIndex((bound) => value <= bound)
      if (at >= 0) kept.counts[at] = (kept.counts[at] ?? 0) + 1
      kept.sum += value
      kept.count += 1
    },
    forget: series.drop,
    text() {
      let text = `# HELP ${name} ${help}\n# TYPE ${name} histogram\n`
      for (const [, kept] of series.all()) text += textOf(kept)
      return text
    },
  }
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
