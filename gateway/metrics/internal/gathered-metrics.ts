import { Counter, type CounterConfiguration, Histogram, type HistogramConfiguration } from 'prom-client'
import { createLabelSeries, type Labels } from './label-series.ts'

/*
 * prom-client checks, sorts and joins labels at each count. For several counts in every request that takes a thirtieth of
 * it. So such counts are collected here and passed to prom-client in batches, at the latest at each scrape.
 */

/** Values that one series collects. */
const gatheredMax = 512

/** A counter of what happens in every request. */
export type GatheredCounter<Label extends string> = {
  inc(labels: Labels<Label>, count?: number): void
}

/** Makes the counter and registers it. */
export function gatheredCounter<Label extends string>(
  config: Omit<CounterConfiguration<Label>, 'collect'> & { readonly labelNames: readonly Label[] },
): GatheredCounter<Label> {
  const series = createLabelSeries<Label, { count: number }>(config.labelNames, () => ({ count: 0 }))
  const counter: Counter<Label> = new Counter({
    ...config,
    collect() {
      for (const [labels, gathered] of series.all()) {
        counter.inc(labels, gathered.count)
        gathered.count = 0
      }
    },
  })
  return {
    inc(labels, count = 1) {
      series.of(labels).count += count
    },
  }
}

/** A histogram of something measured in every request. */
export type GatheredHistogram<Label extends string> = {
  observe(labels: Labels<Label>, value: number): void
}

/** Makes the histogram and registers it. */
export function gatheredHistogram<Label extends string>(
  config: Omit<HistogramConfiguration<Label>, 'collect'> & { readonly labelNames: readonly Label[] },
): GatheredHistogram<Label> {
  const series = createLabelSeries<Label, number[]>(config.labelNames, () => [])
  const histogram: Histogram<Label> = new Histogram({
    ...config,
    collect() {
      for (const [labels, values] of series.all()) tell(labels, values)
    },
  })

  function tell(labels: Labels<Label>, values: number[]): void {
    const { observe } = histogram.labels(labels)
    for (const value of values) observe(value)
    values.length = 0
  }

  return {
    observe(labels, value) {
      const values = series.of(labels)
      values.push(value)
      if (values.length === gatheredMax) tell(labels, values)
    },
  }
}
