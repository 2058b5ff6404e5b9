import { readCpuMs, readRssMiB } from './accounting.ts'
import { keepAwake } from './awake.ts'
import { bodyOf, type Latencies, loadInTurns, loadPlain, loadStreams } from './load.ts'
import type { BenchSystem, Contestant } from './system.ts'
import { fastTokens, slowTokens } from './upstream.ts'

/** What one contestant did in one round; a load that was left out is not there. */
export type Round = {
  readonly name: string
  /** 64 connections, 1 KB in and out. */
  readonly plain?: {
    readonly cpuMsPerRequest: number
    readonly requestsPerSecond: number
    readonly refused: number
    /** CPU time of the Redis process for all clients, less what it takes while idle. */
    readonly redisCpuUsPerRequest: number
  }
  /** One connection, one request after the other, in turns with the others. */
  readonly alone?: { readonly latencies: Latencies }
  /** The same, while no processor may fall asleep. */
  readonly awake?: { readonly latencies: Latencies }
  /** A stream opened each 50 ms, a chunk every 20 ms: 200 at a time once the first ones end. */
  readonly slow?: { readonly cpuMsPer1000Chunks: number; readonly firstBytes: Latencies }
  /**
   * Non-streaming requests to the gateway and to bare Fastify at the same time, 32 connections each: changes
   * of the machine's speed affect both.
   */
  readonly plainTogether?: { readonly cpuMsPerRequest: number }
  /** Slow streams in the same way, 100 at a time each. */
  readonly together?: { readonly cpuMsPer1000Chunks: number }
  /** The same streams, 200 of them opened in one moment: what is measured is mostly how long 200 requests take. */
  readonly burst?: { readonly firstBytes: Latencies }
  /** 10 streams at once, chunks as fast as they are read. */
  readonly fast?: { readonly cpuMsPer1000Chunks: number }
  readonly rssMiB: number
}

export const loads = [
  'plain',
  'plainTogether',
  'alone',
  'awake',
  'slow',
  'together',
  'burst',
  'fast',
] as const
export type Load = (typeof loads)[number]

/** How much of each load: enough for a stable median within half a minute. */
export type Sizes = {
  readonly plain: number
  readonly alone: number
  readonly slow: number
}
export const fullSizes: Sizes = { plain: 10_000, alone: 1000, slow: 400 }
/** V8 goes on compiling for some ten thousand requests; a server that runs for days should be measured after that. */
export const warmUpSizes: Sizes = { plain: 20_000, alone: 500, slow: 200 }
export const quickSizes: Sizes = { plain: 6000, alone: 500, slow: 200 }

/** One stream lasts 500 × 20 ms, so that one each 50 ms makes 200 at a time. */
const slowOpenedEveryMs = 50
/** 100 at a time for each of two: with more of them two processors have no time left, and gateways lose Redis. */
const togetherOpenedEveryMs = 100
const burstStreams = 200
/** 200,000 chunks: of 40,000 most would be warming up. */
const fastStreams = 100

/** Runs every load once against one contestant. */
export async function measureRound(
  system: BenchSystem,
  contestant: Contestant,
  { sizes, only }: { readonly sizes: Sizes; readonly only: readonly Load[] },
): Promise<Round> {
  const run = async <Answer>(load: Load, measure: () => Promise<Answer>) => {
    if (!only.includes(load)) return {}
    await system.settled()
    return { [load]: await measure() }
  }
  return {
    name: contestant.name,
    ...(await run('plain', () => measurePlain(system, contestant, sizes.plain))),
    ...(await run('slow', () => measureSlow(contestant, sizes.slow))),
    ...(await run('burst', () => measureBurst(contestant))),
    ...(await run('fast', () => measureFast(contestant))),
    rssMiB: readRssMiB(contestant.pid),
  }
}

const plainBodyOf = ({ models, path }: Contestant) => bodyOf(`${models}plain`, 'plain', path)

async function measurePlain(system: BenchSystem, contestant: Contestant, count: number) {
  const redisBeforeMs = readCpuMs(system.redisPid)
  const { answer, cpuMs } = await withCpu(contestant, () =>
    loadPlain(contestant, plainBodyOf(contestant), { count, connections: 64 }),
  )
  const redisMs = readCpuMs(system.redisPid) - redisBeforeMs - system.redisIdleShare * answer.seconds * 1000
  return {
    cpuMsPerRequest: cpuMs / count,
    requestsPerSecond: count / answer.seconds,
    refused: answer.refused,
    redisCpuUsPerRequest: (redisMs * 1000) / count,
  }
}

async function measureSlow(contestant: Contestant, count: number, everyMs = slowOpenedEveryMs) {
  const { answer, cpuMs } = await withCpu(contestant, () =>
    loadStreams(contestant, slowBodyOf(contestant), { count, everyMs }),
  )
  return { cpuMsPer1000Chunks: cpuMs / ((count * slowTokens) / 1000), firstBytes: answer }
}

/** Non-streaming requests of several contestants by turns, while processors may sleep (`alone`) or not (`awake`). */
export function measureInTurns(load: 'alone' | 'awake') {
  return async (
    system: BenchSystem,
    contestants: readonly Contestant[],
    { alone }: Sizes,
  ): Promise<readonly Round[]> => {
    await system.settled()
    const targets = contestants.map((contestant) => ({ ...contestant, body: plainBodyOf(contestant) }))
    const measure = () => loadInTurns(targets, alone)
    const all = await (load === 'awake' ? keepAwake(measure) : measure())
    return contestants.map(({ name, pid }, n) => ({
      name,
      [load]: { latencies: all[n] ?? [] },
      rssMiB: readRssMiB(pid),
    }))
  }
}

/** Slow streams of several contestants at the same time. */
export async function measureTogether(
  system: BenchSystem,
  contestants: readonly Contestant[],
  { slow }: Sizes,
): Promise<readonly Round[]> {
  return await atTheSameTime(system, contestants, async (contestant) => {
    const { cpuMsPer1000Chunks } = await measureSlow(contestant, slow, togetherOpenedEveryMs)
    return { together: { cpuMsPer1000Chunks } }
  })
}

/**
 * Non-streaming requests of several contestants at the same time, until the first of them has completed all
 * its requests.
 */
export async function measurePlainTogether(
  system: BenchSystem,
  contestants: readonly Contestant[],
  { plain }: Sizes,
): Promise<readonly Round[]> {
  let isOver = false
  return await atTheSameTime(system, contestants, async (contestant) => {
    const count = contestant === contestants[0] ? plain : Number.POSITIVE_INFINITY
    const { answer, cpuMs } = await withCpu(contestant, () =>
      loadPlain(contestant, plainBodyOf(contestant), { count, connections: 32, isOver: () => isOver }),
    )
    isOver = true
    return { plainTogether: { cpuMsPerRequest: cpuMs / (answer.latencies.length + answer.refused) } }
  })
}

/** One round of each contestant, all of them at once. */
async function atTheSameTime(
  system: BenchSystem,
  contestants: readonly Contestant[],
  measure: (contestant: Contestant) => Promise<Omit<Round, 'name' | 'rssMiB'>>,
): Promise<readonly Round[]> {
  await system.settled()
  return await Promise.all(
    contestants.map(async (contestant) => {
      const measured = await measure(contestant)
      return { name: contestant.name, ...measured, rssMiB: readRssMiB(contestant.pid) }
    }),
  )
}

async function measureBurst(contestant: Contestant) {
  const firstBytes = await loadStreams(contestant, slowBodyOf(contestant), {
    count: burstStreams,
    everyMs: 0,
  })
  return { firstBytes }
}

async function measureFast(contestant: Contestant) {
  const body = bodyOf(`${contestant.models}fast`, 'stream', contestant.path)
  const { cpuMs } = await withCpu(contestant, async () => {
    for (let opened = 0; opened < fastStreams; opened += 10)
      await loadStreams(contestant, body, { count: 10, everyMs: 0 })
  })
  return { cpuMsPer1000Chunks: cpuMs / ((fastStreams * fastTokens) / 1000) }
}

function slowBodyOf({ models, path }: Contestant): string {
  return bodyOf(`${models}slow`, 'stream', path)
}

async function withCpu<Answer>(
  { pid }: Contestant,
  load: () => Promise<Answer>,
): Promise<{ readonly answer: Answer; readonly cpuMs: number }> {
  const beforeMs = readCpuMs(pid)
  const answer = await load()
  return { answer, cpuMs: readCpuMs(pid) - beforeMs }
}

/**
 * µs that Redis spends in the scripts of one non-streaming request, by its own accounting (`INFO
 * commandstats`). The worker is stopped during the measurement, so that all scripts are the gateway's. The
 * pause is shorter than Postgres waits for the worker.
 */
export async function measureScripts(system: BenchSystem): Promise<number> {
  const [gateway] = system.contestants
  const count = 2000
  return await system.withoutWorker(async () => {
    const beforeUs = await system.readScriptUs()
    await loadPlain(gateway, plainBodyOf(gateway), { count, connections: 64 })
    return ((await system.readScriptUs()) - beforeUs) / count
  })
}

export type Soak = {
  readonly rssMiBAfter20k: number
  readonly rssMiBAfter200k: number
  readonly growth: number
}

/** Memory after 20,000 requests and after 200,000. */
export async function measureSoak(contestant: Contestant, say: (line: string) => void): Promise<Soak> {
  say('soak: 20,000 requests')
  await loadPlain(contestant, plainBodyOf(contestant), { count: 20_000, connections: 64 })
  const rssMiBAfter20k = readRssMiB(contestant.pid)
  say('soak: 180,000 more')
  await loadPlain(contestant, plainBodyOf(contestant), { count: 180_000, connections: 64 })
  const rssMiBAfter200k = readRssMiB(contestant.pid)
  return { rssMiBAfter20k, rssMiBAfter200k, growth: rssMiBAfter200k / rssMiBAfter20k }
}
