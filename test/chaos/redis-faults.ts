import { setTimeout as pause } from 'node:timers/promises'
import type { RedisConnection } from '#core/redis/redis-connection'
import { appendOnlyFolder, tearAppendOnlyFile } from '../support/torn-redis-file.ts'
import { type Begun, type FaultHistory, on } from './begun.ts'
import type { Cluster } from './cluster.ts'
import type { Fault } from './fault-schedule.ts'
import { freezePostgres } from './freeze-postgres.ts'
import type { LossGates } from './loss-gates.ts'
import { askServer } from './redis-place.ts'
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
  const server = await redis.serverAt(place)
  if (redis.busy || server === undefined || !(await gates.mayRedisLose())) return undefined
  return on([redis], async () => {
    if (kind === 'flush_redis') return await flush(cluster, gates, history)
    if (kind === 'flush_twice') return await flushTwice(cluster, gates, history)
    const noteLoss = gates.redisLoses()
    history.lossesAtMs.push(performance.now())
    const folder = kind === 'tear_redis' ? await askServer(server, appendOnlyFolder) : undefined
    await server.kill()
    if (folder !== undefined) {
      await tearAppendOnlyFile(folder, Math.ceil(place * tornBytesMax))
      await server.start()
      await pause(lastsMs)
      await server.kill()
    }
    await pause(lastsMs)
    await server.start()
    await redis.untilWhole()
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

async function flush({ servers }: Cluster, gates: LossGates, { lossesAtMs }: FaultHistory): Promise<void> {
  const noteLoss = gates.redisLoses()
  lossesAtMs.push(performance.now())
  const flushed = async () => {
    const ends = servers.servers().map((connection) => connection.ask((client) => client.flushall()))
    return (await Promise.all(ends)).every((end) => end === 'OK')
  }
  if (!(await until(flushed, { withinMs: flushMsMax }))) throw new Error('Redis could not be flushed')
  noteLoss()
}

/** Faults that lose nothing of one Redis. In a cluster the replica that takes over may lack what came last. */
export async function troubleRedis(
  { redis, servers }: Cluster,
  gates: LossGates,
  { lossesAtMs }: FaultHistory,
  { kind, lastsMs, place }: Fault,
): Promise<Begun | undefined> {
  const server = await redis.serverAt(place)
  if (redis.busy || server === undefined) return undefined
  if (kind === 'cut_redis') return on([redis], () => Promise.all(servers.servers().map(cutClients)))
  const mayLose = redis.kind === 'cluster'
  if (mayLose && !(await gates.mayRedisLose())) return undefined
  return on([redis], async () => {
    const noteLoss = mayLose ? gates.redisLoses() : () => undefined
    if (mayLose) lossesAtMs.push(performance.now())
    if (kind === 'freeze_redis') {
      server.freeze()
      await pause(lastsMs)
      server.thaw()
    } else {
      await server.stop()
      await pause(lastsMs)
      await server.start()
    }
    await redis.untilWhole()
    noteLoss()
  })
}

async function cutClients(connection: RedisConnection): Promise<void> {
  await connection
    .ask((client) => client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'))
    .catch(() => undefined)
}
