import { createHash } from 'node:crypto'
import type { Redis } from 'ioredis'
import { RateLimiterMemory, RateLimiterRedis, type RateLimiterRes } from 'rate-limiter-flexible'
import type { Rate, Throttles } from '../../../api/throttles.ts'

/** Throttles in Redis. Key names begin with `mg:throttle:`. */
export function createRedisThrottles(redis: Redis): Throttles {
  const limiters = new Map<string, RateLimiterRedis>()

  function limiterOf({ name, count, perS }: Rate): RateLimiterRedis {
    const known = limiters.get(name)
    if (known !== undefined) return known
    const limit = { keyPrefix: `mg:throttle:${name}`, points: count, duration: perS }
    const made = new RateLimiterRedis({
      ...limit,
      storeClient: redis,
      rejectIfRedisNotReady: true,
      insuranceLimiter: new RateLimiterMemory(limit),
    })
    limiters.set(name, made)
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
