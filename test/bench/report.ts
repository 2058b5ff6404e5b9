import { quantile } from './load.ts'
import type { Round, Soak } from './measure.ts'

/** Medians over the rounds, and ours against each other contestant. `null`: not measured. */
export type Summary = {
  readonly contestants: Readonly<Record<string, Figures>>
  /** The gateway's value divided by the other contestant's, or minus it if the name has `added`. */
  readonly against: Readonly<Record<string, Readonly<Record<string, Spread>>>>
  readonly redis: {
    /** In scripts, by Redis's own accounting, the worker stopped, among all the processes of the bench. */
    readonly scriptUsPerRequest: number
    /** The same of a Redis that has a processor for itself (`hot-scripts.ts`). */
    readonly hotScriptUsPerRequest: number
    /** Processor time of Redis, the worker's share included, less that of an idle system. */
    readonly cpuUsPerRequest: number
  }
  readonly soak?: Soak
}

/** Over the rounds. */
type Spread = { readonly least: number; readonly median: number; readonly most: number }

type Figures = {
  readonly cpuMsPerRequest: number
  readonly togetherCpuMsPerRequest: number
  readonly requestsPerSecond: number
  readonly refused: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly awakeP50Ms: number
  readonly awakeP99Ms: number
  readonly slowCpuMsPer1000Chunks: number
  readonly togetherCpuMsPer1000Chunks: number
  readonly firstByteP50Ms: number
  readonly firstByteP99Ms: number
  readonly burstFirstByteP99Ms: number
  readonly fastCpuMsPer1000Chunks: number
  readonly rssMiB: number
}

/** Turns rounds into medians and comparisons. Pure. */
export function summarise(
  rounds: readonly Round[],
  { scriptUs, hotScriptUs }: { readonly scriptUs: number; readonly hotScriptUs: number },
): Summary {
  const [[ours, own] = ['', []], ...others] = Map.groupBy(rounds, ({ name }) => name)
  if (own.length === 0) throw new Error('nothing was measured')
  const against = Object.fromEntries(others.map(([name, bare]) => [name, compare(own, bare)]))
  const contestants = Object.fromEntries(
    [[ours, own] as const, ...others].map(([name, its]) => [name, figuresOf(its)]),
  )
  const cpuUsPerRequest = medianOf(own.map(({ plain }) => plain?.redisCpuUsPerRequest))
  const redis = { scriptUsPerRequest: scriptUs, hotScriptUsPerRequest: hotScriptUs, cpuUsPerRequest }
  return { contestants, against, redis }
}

type Reading = (round: Round) => number | undefined

const readings: Readonly<Record<keyof Figures, Reading>> = {
  cpuMsPerRequest: ({ plain }) => plain?.cpuMsPerRequest,
  togetherCpuMsPerRequest: ({ plainTogether }) => plainTogether?.cpuMsPerRequest,
  requestsPerSecond: ({ plain }) => plain?.requestsPerSecond,
  refused: ({ plain }) => plain?.refused,
  p50Ms: ({ alone }) => alone && quantile(alone.latencies, 0.5),
  p99Ms: ({ alone }) => alone && quantile(alone.latencies, 0.99),
  awakeP50Ms: ({ awake }) => awake && quantile(awake.latencies, 0.5),
  awakeP99Ms: ({ awake }) => awake && quantile(awake.latencies, 0.99),
  slowCpuMsPer1000Chunks: ({ slow }) => slow?.cpuMsPer1000Chunks,
  togetherCpuMsPer1000Chunks: ({ together }) => together?.cpuMsPer1000Chunks,
  firstByteP50Ms: ({ slow }) => slow && quantile(slow.firstBytes, 0.5),
  firstByteP99Ms: ({ slow }) => slow && quantile(slow.firstBytes, 0.99),
  burstFirstByteP99Ms: ({ burst }) => burst && quantile(burst.firstBytes, 0.99),
  fastCpuMsPer1000Chunks: ({ fast }) => fast?.cpuMsPer1000Chunks,
  rssMiB: ({ rssMiB }) => rssMiB,
}

function figuresOf(rounds: readonly Round[]): Figures {
  const entries = Object.entries(readings).map(([name, read]) => [name, medianOf(rounds.map(read))])
  return Object.fromEntries(entries)
}

/**
 * Ratios of each gateway round to the other contestant's round that followed it: the machine changes from minute to
 * minute.
 */
function compare(own: readonly Round[], bare: readonly Round[]): Readonly<Record<string, Spread>> {
  const measured = (rounds: readonly Round[], reading: keyof Figures) =>
    rounds.flatMap((round) => readings[reading](round) ?? [])
  const spread = (reading: keyof Figures, combine: (ours: number, theirs: number) => number) => {
    const others = measured(bare, reading) // a contestant that takes part in some loads only has fewer rounds
    return spreadOf(
      measured(own, reading).flatMap((ours, position) => {
        const theirs = others[position]
        return theirs === undefined ? [] : combine(ours, theirs)
      }),
    )
  }
  const times = (reading: keyof Figures) => spread(reading, (ours, theirs) => ours / theirs)
  const added = (reading: keyof Figures) => spread(reading, (ours, theirs) => ours - theirs)
  const all = {
    cpuPerRequest: times('cpuMsPerRequest'),
    cpuPerRequestTogether: times('togetherCpuMsPerRequest'),
    addedCpuMsPerRequestTogether: added('togetherCpuMsPerRequest'),
    requestsPerSecond: times('requestsPerSecond'),
    addedP50Ms: added('p50Ms'),
    addedP99Ms: added('p99Ms'),
    addedAwakeP50Ms: added('awakeP50Ms'),
    addedAwakeP99Ms: added('awakeP99Ms'),
    cpuPerSlowChunk: times('slowCpuMsPer1000Chunks'),
    cpuPerSlowChunkTogether: times('togetherCpuMsPer1000Chunks'),
    addedFirstByteP50Ms: added('firstByteP50Ms'),
    addedFirstByteP99Ms: added('firstByteP99Ms'),
    addedBurstFirstByteP99Ms: added('burstFirstByteP99Ms'),
    cpuPerFastChunk: times('fastCpuMsPer1000Chunks'),
  }
  return Object.fromEntries(Object.entries(all).filter(([, { median }]) => !Number.isNaN(median)))
}

function spreadOf(values: readonly number[]): Spread {
  return { least: quantile(values, 0), median: quantile(values, 0.5), most: quantile(values, 1) }
}

function medianOf(values: readonly (number | undefined)[]): number {
  return quantile(
    values.flatMap((value) => value ?? []),
    0.5,
  )
}

/** Prints a summary as JSON with figures that can be read. */
export function printReport(summary: Summary): void {
  const rounded = (_: string, value: unknown) =>
    typeof value === 'number' ? Number(value.toPrecision(4)) : value
  process.stdout.write(`${JSON.stringify(summary, rounded, 2)}\n`)
}
