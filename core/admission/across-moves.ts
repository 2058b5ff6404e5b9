import type { RedisServers } from '../redis/redis-connection.ts'
import type { Shard } from '../redis/shard.ts'
import type { Admission } from './admission.ts'
import { whileMoving } from './internal/while-moving.ts'

/**
 * The same admission, which sends a call again that has not run because its shard is moving to another server. A move is
 * handed over by a server that runs; in an outage nothing is sent again.
 */
export function acrossMoves(redis: Pick<RedisServers, 'kind' | 'isMoving'>, admission: Admission): Admission {
  const again = <Answer>(
    shard: Shard,
    call: () => Promise<Answer>,
    hasNotRun?: (answer: Answer) => boolean,
  ) => whileMoving(redis, shard, call, hasNotRun)
  return {
    ...admission,
    inspect: (...asked) => again(asked[0], () => admission.inspect(...asked), isUnavailable),
    count: (...asked) => again(asked[0], () => admission.count(...asked), isUnavailable),
    takeTokenCount: (...asked) => again(asked[0], () => admission.takeTokenCount(...asked), isUnavailable),
    admit: (request) => again(request.shard, () => admission.admit(request), isUnavailable),
    settle: (charge, untilMs) => again(charge.hold.shard, () => admission.settle(charge, untilMs)),
    void: (ended) => again(ended.hold.shard, () => admission.void(ended)),
  }
}

function isUnavailable(answer: { readonly outcome: string; readonly reason?: string }): boolean {
  return answer.outcome === 'refused' && answer.reason === 'unavailable'
}
