import { setTimeout as pause } from 'node:timers/promises'
import { readRssMiB } from './accounting.ts'
import { bodyOf, leaveStream, loadStreams } from './load.ts'
import type { BenchSystem, Contestant } from './system.ts'

/** Memory that a gateway takes for slow streams, which it reads to their ends with or without their clients. */
export type AbandonedMemory = {
  readonly streams: number
  readonly rssMiBBefore: number
  /** The most while clients read all of them. */
  readonly rssMiBRead: number
  /** The most while none of them has a client, and after they have ended. */
  readonly rssMiBAbandoned: number
  readonly rssMiBAfter: number
}

const lookEveryMs = 100
/** The provider's streams take 10 s. */
const endsAfterMs = 12_000

/** First with clients, which also warms the gateway up; then each client leaves at its first byte. */
export async function measureAbandoned(system: BenchSystem, streams: number): Promise<AbandonedMemory> {
  const [gateway] = system.contestants
  const body = bodyOf(`${gateway.models}slow`, 'stream')
  const rssMiBBefore = readRssMiB(gateway.pid)
  const rssMiBRead = await most(gateway, loadStreams(gateway, body, { count: streams, everyMs: 10 }))
  await system.settled()
  const left = Array.from({ length: streams }, async (_, position) => {
    await pause(1 + position * 10)
    await leaveStream(gateway, body)
  })
  const rssMiBAbandoned = await most(gateway, Promise.all([...left, pause(streams * 10 + endsAfterMs)]))
  await system.settled()
  return { streams, rssMiBBefore, rssMiBRead, rssMiBAbandoned, rssMiBAfter: readRssMiB(gateway.pid) }
}

async function most({ pid }: Contestant, work: Promise<unknown>): Promise<number> {
  let isOver = false
  const ended = work.finally(() => {
    isOver = true
  })
  let rssMiB = 0
  for (; !isOver; await pause(lookEveryMs)) rssMiB = Math.max(rssMiB, readRssMiB(pid))
  await ended
  return rssMiB
}
