import { Counter, type CounterConfiguration, Histogram, type HistogramConfiguration } from 'prom-client'

/*
 * prom-client checks, sorts and joins labels at each count. For what happens several times in every request that is a
 * thirtieth of it, so such counts are gathered here and passed to prom-client in batches, at the latest at each scrape.
 */

/** Values that one series gathers. */
const gatheredMax = 512

type Labels<Label extends string> = Readonly<Record<Label, string>>

/** A counter of what happens in every request. */
export type GatheredCounter<Label extends string> = {
  inc(labels: Labels<Label>, count?: number): void
}

/** Makes the counter and registers it. */
export function gatheredCounter<Label extends string>(
  config: Omit<CounterConfiguration<Label>, 'collect'> & { readonly labelNames: readonly Label[] },
): GatheredCounter<Label> {
  const series = createSeries<Label, { count: number }>(config.labelNames, () => ({ count: 0 }))
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

/** A histogram of what is measured in every request. */
export type GatheredHistogram<Label extends string> = {
  observe(labels: Labels<Label>, value: number): void
}

/** Makes the histogram and registers it. */
export function gatheredHistogram<Label extends string>(
  config: Omit<HistogramConfiguration<Label>, 'collect'> & { readonly labelNames: readonly Label[] },
): GatheredHistogram<Label> {
  const series = createSeries<Label, number[]>(config.labelNames, () => [])
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

/** What is gathered for each set of values of some labels. */
function createSeries<Label extends string, Gathered>(
  labelNames: readonly Label[],
  make: () => Gathered,
): { of(labels: Labels<Label>): Gathered; all(): Iterable<[Labels<Label>, Gathered]> } {
  const all: [Labels<Label>, Gathered][] = []
  const root: Branch<Gathered> = { branches: new Map(), gathered: undefined }
  return {
    all: () => all,
    of(labels) {
      let branch = root
      for (const name of labelNames) branch = branchOf(branch, labels[name])
      if (branch.gathered !== undefined) return branch.gathered
      branch.gathered = make()
      all.push([labels, branch.gathered])
      return branch.gathered
    },
  }
}

/** Series with the same values of their first labels; found without joining them into one string. */
type Branch<Gathered> = {
  readonly branches: Map<string, Branch<Gathered>>
  gathered: Gathered | undefined
}

function branchOf<Gathered>({ branches }: Branch<Gathered>, value: string): Branch<Gathered> {
  const known = branches.get(value)
  if (known !== undefined) return known
  const branch: Branch<Gathered> = { branches: new Map(), gathered: undefined }
  branches.set(value, branch)
  return branch
}
