import { readCpuMs, readRssMiB } from './accounting.ts'
import { bodyOf, type Latencies, loadPlain, loadStreams } from './load.ts'
import type { BenchSystem, Contestant } from './system.ts'
import { fastTokens, slowTokens } from './upstream.ts'

/** What one contestant did in one round. */
export type Round = {
  readonly name: string
  /** 64 connections, 1 KB in and out. */
  readonly plain: {
    readonly cpuMsPerRequest: number
    readonly requestsPerSecond: number
    readonly refused: number
    /** Of Redis, whole machine-wide instance: scripts and what the worker asks. */
    readonly redisUsPerRequest: number
  }
  /** One connection, one request after the other. */
  readonly alone: { readonly latencies: Latencies }
  /** 200 streams at once, a chunk every 20 ms. */
  readonly slow: { readonly cpuMsPer1000Chunks: number; readonly firstBytes: Latencies }
  /** 10 streams at once, chunks as fast as they are read. */
  readonly fast: { readonly cpuMsPer1000Chunks: number }
  readonly rssMiB: number
}

const sizes = {
  'warm-up': { plain: 3000, alone: 300, slow: 50, fast: 5 },
  measured: { plain: 6000, alone: 500, slow: 200, fast: 10 },
} as const

/** Runs every load once against one contestant. */
export async function measureRound(
  system: BenchSystem,
  contestant: Contestant,
  kind: keyof typeof sizes,
): Promise<Round> {
  const size = sizes[kind]
  const redisBeforeUs = await system.readRedisUs()
  const plain = await withCpu(contestant, () =>
    loadPlain(contestant, bodyOf('bench/plain', 'plain'), { count: size.plain, connections: 64 }),
  )
  const redisUs = (await system.readRedisUs()) - redisBeforeUs
  const alone = await loadPlain(contestant, bodyOf('bench/plain', 'plain'), {
    count: size.alone,
    connections: 1,
  })
  const slow = await withCpu(contestant, () =>
    loadStreams(contestant, bodyOf(slowModel(contestant), 'stream'), size.slow),
  )
  const fast = await withCpu(contestant, () =>
    loadStreams(contestant, bodyOf('bench/fast', 'stream'), size.fast),
  )
  return {
    name: contestant.name,
    plain: {
      cpuMsPerRequest: plain.cpuMs / size.plain,
      requestsPerSecond: size.plain / plain.answer.seconds,
      refused: plain.answer.refused,
      redisUsPerRequest: redisUs / size.plain,
    },
    alone: { latencies: alone.latencies },
    slow: {
      cpuMsPer1000Chunks: slow.cpuMs / ((size.slow * slowTokens) / 1000),
      firstBytes: slow.answer,
    },
    fast: { cpuMsPer1000Chunks: fast.cpuMs / ((size.fast * fastTokens) / 1000) },
    rssMiB: readRssMiB(contestant.pid),
  }
}

/** The bare proxies pass the model on as it is; the provider knows the slow one by this name. */
function slowModel({ name }: Contestant): string {
  return name === 'gateway' ? 'bench/slow' : 'bench-slow'
}

async function withCpu<Answer>(
  { pid }: Contestant,
  load: () => Promise<Answer>,
): Promise<{ readonly answer: Answer; readonly cpuMs: number }> {
  const beforeMs = readCpuMs(pid)
  const answer = await load()
  return { answer, cpuMs: readCpuMs(pid) - beforeMs }
}

export type Soak = { readonly rssMiBAfter20k: number; readonly rssMiBAfter200k: number }

/** Memory after 20,000 requests and after 200,000. */
export async function measureSoak(contestant: Contestant, say: (line: string) => void): Promise<Soak> {
  const body = bodyOf('bench/plain', 'plain')
  say('soak: 20,000 requests')
  await loadPlain(contestant, body, { count: 20_000, connections: 64 })
  const rssMiBAfter20k = readRssMiB(contestant.pid)
  say('soak: 180,000 more')
  await loadPlain(contestant, body, { count: 180_000, connections: 64 })
  return { rssMiBAfter20k, rssMiBAfter200k: readRssMiB(contestant.pid) }
}
