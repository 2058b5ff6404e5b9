import { createHash } from 'node:crypto'
import type { Redis } from 'ioredis'
import { RateLimiterMemory, RateLimiterRedis, type RateLimiterRes } from 'rate-limiter-flexible'
import { commonName } from '#core/redis/common-name'
import type { RedisServers } from '#core/redis/redis-connection'
import type { Rate, Throttles } from '../../../api/throttles.ts'

/** Throttles in Redis. Key names begin with `mg:throttle:`, on a cluster with `mg:{common}:throttle:`. */
export function createRedisThrottles(servers: Pick<RedisServers, 'common' | 'kind'>): Throttles {
  const limitersOf = new WeakMap<Redis, Map<string, RateLimiterRedis>>()

  /** On the server that has the counts now. */
  function limiterOf({ name, count, perS }: Rate): RateLimiterRedis {
    const { redis } = servers.common()
    const limiters = limitersOf.get(redis) ?? new Map<string, RateLimiterRedis>()
    limitersOf.set(redis, limiters)
    const keyPrefix = commonName(servers, `throttle:${name}`)
    const known = limiters.get(keyPrefix)
    if (known !== undefined) return known
    const limit = { keyPrefix, points: count, duration: perS }
    const made = new RateLimiterRedis({
      ...limit,
      storeClient: redis,
      rejectIfRedisNotReady: true,
      insuranceLimiter: new RateLimiterMemory(limit),
    })
    limiters.set(keyPrefix, made)
    return made
  }

  return {
    async count(rate, caller) {
      try {
        await limiterOf(rate).consume(hashOf(caller))
        return 0
      } catch (refused) {
        return secondsOf(refused as RateLimiterRes)
      }
    },
    async tally(rate, caller) {
      try {
        return (await limiterOf(rate).consume(hashOf(caller))).consumedPoints
      } catch (refused) {
        return (refused as RateLimiterRes).consumedPoints
      }
    },
    async takeBack(rate, caller) {
      const limiter = limiterOf(rate)
      const { consumedPoints } = await limiter.reward(hashOf(caller))
      // Its time span had ended: what is left would be one call more than the limit.
      if (consumedPoints < 0) await limiter.delete(hashOf(caller))
    },
    async clear(rate, caller) {
      await limiterOf(rate).delete(hashOf(caller))
    },
  }
}

/** Hashed, so that no addresses can be read from Redis. */
function hashOf(caller: string): string {
  return createHash('sha256').update(caller).digest('base64url')
}

function secondsOf({ msBeforeNext }: RateLimiterRes): number {
  return Math.max(1, Math.ceil(msBeforeNext / 1000))
}
