import { setTimeout as pause } from 'node:timers/promises'
import { type RedisServers, RedisUnavailable } from '../../redis/redis-connection.ts'
import type { Shard } from '../../redis/shard.ts'

type MovedServers = Pick<RedisServers, 'kind' | 'isMoving'>

/** Between two tries; servers are looked at as often. */
const againMs = 20
/** In all, for a shard that moves is closed for no longer. Its clients wait, where an outage would be a 503 at once. */
const waitMsMax = 1_000

/**
 * Sends a call to a shard again that has not run because the shard is moving to another server. `call` must ask for the
 * connection each time.
 *
 * @param hasNotRun whether an answer means that the shard is closed.
 */
export function whileMoving<Answer>(
  redis: MovedServers,
  shard: Shard,
  call: () => Promise<Answer>,
  hasNotRun: (answer: Answer) => boolean = () => false,
): Promise<Answer> {
  return redis.kind() === 'single' ? call() : callAgain(redis, shard, call, hasNotRun)
}

async function callAgain<Answer>(
  redis: MovedServers,
  shard: Shard,
  call: () => Promise<Answer>,
  hasNotRun: (answer: Answer) => boolean,
): Promise<Answer> {
  const untilMs = performance.now() + waitMsMax
  const mayWait = () => performance.now() < untilMs && redis.isMoving(shard)
  for (;;) {
    try {
      const answer = await call()
      if (!hasNotRun(answer) || !mayWait()) return answer
    } catch (error) {
      if (!(error instanceof RedisUnavailable) || error.mayHaveRun === 'yes' || !mayWait()) throw error
    }
    await pause(againMs)
  }
}
