import { quantile } from './load.ts'
import type { Round, Soak } from './measure.ts'

/** Medians over the rounds, and ours against each bare proxy. */
export type Summary = {
  readonly contestants: Readonly<Record<string, Figures>>
  /** Ours divided by the bare proxy's, or ours minus it where the name says `added`. */
  readonly against: Readonly<Record<string, Readonly<Record<string, number>>>>
  readonly redisUsPerRequest: number
  readonly soak?: Soak
}

type Figures = {
  readonly cpuMsPerRequest: number
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly slowCpuMsPer1000Chunks: number
  readonly firstByteP99Ms: number
  readonly fastCpuMsPer1000Chunks: number
  readonly rssMiB: number
}

/** Turns rounds into medians and comparisons. Pure. */
export function summarise(rounds: readonly Round[]): Summary {
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
  return {
    contestants,
    against,
    redisUsPerRequest: median(ownRounds.map(({ plain }) => plain.redisUsPerRequest)),
  }
}

function figuresOf(rounds: readonly Round[]): Figures {
  return {
    cpuMsPerRequest: median(rounds.map(({ plain }) => plain.cpuMsPerRequest)),
    requestsPerSecond: median(rounds.map(({ plain }) => plain.requestsPerSecond)),
    p50Ms: median(rounds.map(({ alone }) => quantile(alone.latencies, 0.5))),
    p99Ms: median(rounds.map(({ alone }) => quantile(alone.latencies, 0.99))),
    slowCpuMsPer1000Chunks: median(rounds.map(({ slow }) => slow.cpuMsPer1000Chunks)),
    firstByteP99Ms: median(rounds.map(({ slow }) => quantile(slow.firstBytes, 0.99))),
    fastCpuMsPer1000Chunks: median(rounds.map(({ fast }) => fast.cpuMsPer1000Chunks)),
    rssMiB: median(rounds.map(({ rssMiB }) => rssMiB)),
  }
}

function compare(own: Figures, bare: Figures): Readonly<Record<string, number>> {
  return {
    cpuPerRequest: own.cpuMsPerRequest / bare.cpuMsPerRequest,
    requestsPerSecond: own.requestsPerSecond / bare.requestsPerSecond,
    addedP50Ms: own.p50Ms - bare.p50Ms,
    addedP99Ms: own.p99Ms - bare.p99Ms,
    cpuPerSlowChunk: own.slowCpuMsPer1000Chunks / bare.slowCpuMsPer1000Chunks,
    addedFirstByteP99Ms: own.firstByteP99Ms - bare.firstByteP99Ms,
    cpuPerFastChunk: own.fastCpuMsPer1000Chunks / bare.fastCpuMsPer1000Chunks,
  }
}

function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

/** Prints a summary as JSON with figures that can be read. */
export function printReport(summary: Summary): void {
  const rounded = (_: string, value: unknown) =>
    typeof value === 'number' ? Number(value.toPrecision(4)) : value
  process.stdout.write(`${JSON.stringify(summary, rounded, 2)}\n`)
}
