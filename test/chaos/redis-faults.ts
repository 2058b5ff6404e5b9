import { setTimeout as pause } from 'node:timers/promises'
import { appendOnlyFolder, tearAppendOnlyFile } from '../support/torn-redis-file.ts'
import { type Begun, type FaultHistory, on } from './begun.ts'
import type { Cluster } from './cluster.ts'
import type { Fault } from './fault-schedule.ts'
import { freezePostgres } from './freeze-postgres.ts'
import type { LossGates } from './loss-gates.ts'
import { until } from './until.ts'

/** Some scripts' worth of an append-only file. */
const tornBytesMax = 4_000

/** Longer than a last byte waits for Redis: from then on a charge that was never posted is `late`. */
const flushAgainMs = 6_000

/** Longest wait until Redis, which has no fault at that moment, has flushed. */
const flushMsMax = 10_000

/** Kills Redis, whose file may be behind or torn, or flushes it. */
export async function loseRedis(
  cluster: Cluster,
  gates: LossGates,
  history: FaultHistory,
  { kind, lastsMs, place }: Fault,
): Promise<Begun | undefined> {
  const { redis } = cluster
  if (redis.busy || !(await gates.mayRedisLose())) return undefined
  return on([redis], async () => {
    if (kind === 'flush_redis') return await flush(cluster, gates, history)
    if (kind === 'flush_twice') return await flushTwice(cluster, gates, history)
    const noteLoss = gates.redisLoses()
    history.lossesAtMs.push(performance.now())
    const folder = kind === 'tear_redis' ? await cluster.connection.ask(appendOnlyFolder) : undefined
    await redis.kill()
    if (folder !== undefined) {
      await tearAppendOnlyFile(folder, Math.ceil(place * tornBytesMax))
      await redis.start()
      await pause(lastsMs)
      await redis.kill()
    }
    await pause(lastsMs)
    await redis.start()
    noteLoss()
  })
}

export async function flushUnposted(
  cluster: Cluster,
  gates: LossGates,
  history: FaultHistory,
  { lastsMs }: Fault,
): Promise<Begun | undefined> {
  const { redis, postgres } = cluster
  if (redis.busy || postgres.busy || !(await gates.mayRedisLose())) return undefined
  return on([redis, postgres], async () => {
    const thawed = freezePostgres(postgres.pid(), lastsMs)
    await pause(lastsMs / 2)
    // A gateway may have died in the meantime; then its charges are only in Redis.
    if (await gates.mayRedisLose().catch(() => false)) await flush(cluster, gates, history)
    await thawed
  })
}

async function flushTwice(cluster: Cluster, gates: LossGates, history: FaultHistory): Promise<void> {
  await flush(cluster, gates, history)
  await pause(flushAgainMs)
  if (await gates.mayRedisLose().catch(() => false)) await flush(cluster, gates, history)
}

async function flush({ connection }: Cluster, gates: LossGates, { lossesAtMs }: FaultHistory): Promise<void> {
  const noteLoss = gates.redisLoses()
  lossesAtMs.push(performance.now())
  const flushed = async () => (await connection.ask((client) => client.flushall())) === 'OK'
  if (!(await until(flushed, { withinMs: flushMsMax }))) throw new Error('Redis could not be flushed')
  noteLoss()
}

/** Faults that lose nothing of Redis. */
export function troubleRedis({ redis, connection }: Cluster, { kind, lastsMs }: Fault): Begun | undefined {
  if (redis.busy) return undefined
  return on([redis], async () => {
    if (kind === 'cut_redis') {
      await connection
        .ask((client) => client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'))
        .catch(() => undefined)
    } else if (kind === 'freeze_redis') {
      redis.freeze()
      await pause(lastsMs)
      redis.thaw()
    } else {
      await redis.stop()
      await pause(lastsMs)
      await redis.start()
    }
  })
}
