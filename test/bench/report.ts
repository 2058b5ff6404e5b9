import { quantile } from './load.ts'
import type { Round, Soak } from './measure.ts'

/** Medians over the rounds, and ours against each bare proxy. What was not measured is `null`. */
export type Summary = {
  readonly contestants: Readonly<Record<string, Figures>>
  /** Ours divided by the bare proxy's, or ours minus it where the name says `added`. */
  readonly against: Readonly<Record<string, Readonly<Record<string, number>>>>
  readonly redis: {
    /** In scripts, by Redis's own accounting, the worker stopped. */
    readonly scriptUsPerRequest: number
    /** Processor time of Redis, the worker's share included, less that of an idle system. */
    readonly cpuUsPerRequest: number
  }
  readonly soak?: Soak
}

type Figures = {
  readonly cpuMsPerRequest: number
  readonly requestsPerSecond: number
  readonly refused: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly slowCpuMsPer1000Chunks: number
  readonly firstByteP50Ms: number
  readonly firstByteP99Ms: number
  readonly burstFirstByteP99Ms: number
  readonly fastCpuMsPer1000Chunks: number
  readonly rssMiB: number
}

/** Turns rounds into medians and comparisons. Pure. */
export function summarise(rounds: readonly Round[], scriptUsPerRequest: number): Summary {
  const names = [...new Set(rounds.map(({ name }) => name))]
  const contestants = Object.fromEntries(
    names.map((name) => [name, figuresOf(rounds.filter((round) => round.name === name))]),
  )
  const [ours = ''] = names
  const own = contestants[ours]
  if (own === undefined) throw new Error('nothing was measured')
  const against = Object.fromEntries(
    names.slice(1).flatMap((name) => {
      const bare = contestants[name]
      return bare === undefined ? [] : [[name, compare(own, bare)]]
    }),
  )
  const ownRounds = rounds.filter(({ name }) => name === ours)
  const cpuUsPerRequest = medianOf(ownRounds, ({ plain }) => plain?.redisCpuUsPerRequest)
  return { contestants, against, redis: { scriptUsPerRequest, cpuUsPerRequest } }
}

function figuresOf(rounds: readonly Round[]): Figures {
  const median = (read: (round: Round) => number | undefined) => medianOf(rounds, read)
  return {
    cpuMsPerRequest: median(({ plain }) => plain?.cpuMsPerRequest),
    requestsPerSecond: median(({ plain }) => plain?.requestsPerSecond),
    refused: median(({ plain }) => plain?.refused),
    p50Ms: median(({ alone }) => alone && quantile(alone.latencies, 0.5)),
    p99Ms: median(({ alone }) => alone && quantile(alone.latencies, 0.99)),
    slowCpuMsPer1000Chunks: median(({ slow }) => slow?.cpuMsPer1000Chunks),
    firstByteP50Ms: median(({ slow }) => slow && quantile(slow.firstBytes, 0.5)),
    firstByteP99Ms: median(({ slow }) => slow && quantile(slow.firstBytes, 0.99)),
    burstFirstByteP99Ms: median(({ burst }) => burst && quantile(burst.firstBytes, 0.99)),
    fastCpuMsPer1000Chunks: median(({ fast }) => fast?.cpuMsPer1000Chunks),
    rssMiB: median(({ rssMiB }) => rssMiB),
  }
}

function compare(own: Figures, bare: Figures): Readonly<Record<string, number>> {
  return {
    cpuPerRequest: own.cpuMsPerRequest / bare.cpuMsPerRequest,
    requestsPerSecond: own.requestsPerSecond / bare.requestsPerSecond,
    addedP50Ms: own.p50Ms - bare.p50Ms,
    addedP99Ms: own.p99Ms - bare.p99Ms,
    cpuPerSlowChunk: own.slowCpuMsPer1000Chunks / bare.slowCpuMsPer1000Chunks,
    addedFirstByteP50Ms: own.firstByteP50Ms - bare.firstByteP50Ms,
    addedFirstByteP99Ms: own.firstByteP99Ms - bare.firstByteP99Ms,
    addedBurstFirstByteP99Ms: own.burstFirstByteP99Ms - bare.burstFirstByteP99Ms,
    cpuPerFastChunk: own.fastCpuMsPer1000Chunks / bare.fastCpuMsPer1000Chunks,
  }
}

function medianOf(rounds: readonly Round[], read: (round: Round) => number | undefined): number {
  const values = rounds.flatMap((round) => read(round) ?? [])
  return quantile(values, 0.5)
}

/** Prints a summary as JSON with figures that can be read. */
export function printReport(summary: Summary): void {
  const rounded = (_: string, value: unknown) =>
    typeof value === 'number' ? Number(value.toPrecision(4)) : value
  process.stdout.write(`${JSON.stringify(summary, rounded, 2)}\n`)
}
