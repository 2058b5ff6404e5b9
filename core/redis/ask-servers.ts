import { type RedisConnection, type RedisServers, RedisUnavailable } from './redis-connection.ts'
import { allShards, type Shard } from './shard.ts'

/**
 * Asks each server about the shards that it has, all at once. A server that is unavailable answers nothing, for the others
 * must not wait for it.
 *
 * @throws RedisUnavailable if no server answers, and any other error of one.
 */
export async function askServers<Answer>(
  redis: Pick<RedisServers, 'connectionOf'>,
  ask: (connection: RedisConnection, shards: readonly Shard[]) => Promise<Answer>,
  of: readonly Shard[] = allShards,
): Promise<readonly Answer[]> {
  const byServer = Map.groupBy(of, redis.connectionOf)
  const asked = [...byServer].map(([connection, shards]) => ask(connection, shards))
  const ends = await Promise.allSettled(asked)
  const errors: unknown[] = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason] : []))
  const answers = ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []))
  const fatal = errors.find((error) => !(error instanceof RedisUnavailable))
  if (fatal !== undefined) throw fatal
  if (answers.length === 0 && errors.length > 0) throw errors[0]
  return answers
}
