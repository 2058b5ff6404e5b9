import type { Redis } from 'ioredis'
import { askServers } from '../redis/ask-servers.ts'
import type { RedisConnection, RedisServers } from '../redis/redis-connection.ts'
import { allShards, chargesName, dueName, epochName, type Shard } from '../redis/shard.ts'

/** The total that waits in all shards. Ages are milliseconds by Redis's clock; 0 if nothing waits. */
export type Backlog = {
  /** Charges that are not in Postgres yet. */
  readonly unpostedCount: number
  readonly oldestUnpostedMs: number
  /** Requests that hold money. */
  readonly holdCount: number
  /** Time since the lease of the most overdue hold expired. */
  readonly longestOverdueMs: number
  /** Shards that answer 503 because their epoch is not open. */
  readonly shutShardCount: number
}

type ShardBacklog = {
  readonly unposted: number
  readonly oldestUnpostedAtMs: number | undefined
  readonly holds: number
  readonly firstDueAtMs: number | undefined
  readonly opensAtMs: number | undefined
}

/**
 * Reads every shard, with five quick commands each. Shards of a server that is unavailable count as closed, and nothing
 * waits there.
 *
 * @throws RedisUnavailable if all servers are.
 */
export async function readBacklog(redis: RedisServers): Promise<Backlog> {
  const parts = await askServers(redis, readPart)
  const sum = (numberOf: (part: Backlog) => number) =>
    parts.reduce((total, part) => total + numberOf(part), 0)
  const longest = (numberOf: (part: Backlog) => number) => Math.max(0, ...parts.map(numberOf))
  const seenCount = parts.reduce((total, { shardCount }) => total + shardCount, 0)
  return {
    unpostedCount: sum((part) => part.unpostedCount),
    oldestUnpostedMs: longest((part) => part.oldestUnpostedMs),
    holdCount: sum((part) => part.holdCount),
    longestOverdueMs: longest((part) => part.longestOverdueMs),
    shutShardCount: allShards.length - seenCount + sum((part) => part.shutShardCount),
  }
}

/** The shards of one server, by its clock. */
async function readPart(
  connection: RedisConnection,
  own: readonly Shard[],
): Promise<Backlog & { readonly shardCount: number }> {
  const { nowMs, shards } = await connection.ask(async (redis) => {
    const [[seconds, microseconds], ...shards] = await Promise.all([
      redis.time(),
      ...own.map((shard) => readShard(redis, connection.runId(), shard)),
    ])
    return { nowMs: Number(seconds) * 1000 + Number(microseconds) / 1000, shards }
  })
  const ageOf = (instants: readonly (number | undefined)[]) =>
    Math.max(0, ...instants.map((atMs) => (atMs === undefined ? 0 : nowMs - atMs)))
  return {
    shardCount: shards.length,
    unpostedCount: sumOf(shards.map(({ unposted }) => unposted)),
    oldestUnpostedMs: ageOf(shards.map(({ oldestUnpostedAtMs }) => oldestUnpostedAtMs)),
    holdCount: sumOf(shards.map(({ holds }) => holds)),
    longestOverdueMs: ageOf(shards.map(({ firstDueAtMs }) => firstDueAtMs)),
    shutShardCount: shards.filter(({ opensAtMs = Number.POSITIVE_INFINITY }) => opensAtMs > nowMs).length,
  }
}

async function readShard(redis: Redis, runId: string | undefined, shard: Shard): Promise<ShardBacklog> {
  const [unposted, [oldest], holds, [, dueAt], [epochRunId, opensAt]] = await Promise.all([
    redis.xlen(chargesName(shard)),
    redis.xrange(chargesName(shard), '-', '+', 'COUNT', 1),
    redis.zcard(dueName(shard)),
    redis.zrange(dueName(shard), '0', '0', 'WITHSCORES'),
    redis.hmget(epochName(shard), 'run_id', 'opens_at'),
  ])
  const isOfThisRun = runId !== undefined && epochRunId === runId
  return {
    unposted,
    oldestUnpostedAtMs: oldest === undefined ? undefined : Number(oldest[0].split('-')[0]),
    holds,
    firstDueAtMs: dueAt === undefined ? undefined : Number(dueAt),
    opensAtMs: isOfThisRun ? Number(opensAt) : undefined,
  }
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0)
}
