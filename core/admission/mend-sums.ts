import type { RedisConnection } from '../redis/redis-connection.ts'
import { allShards } from '../redis/shard.ts'
import type { WrongSum } from './internal/counted-names.ts'
import { createPosting } from './internal/posting.ts'

/**
 * Adds up what is pending and held in every shard from the entries and holds that are there, mends each sum that says
 * otherwise and returns those. Walks through all of Redis.
 *
 * @throws RedisUnavailable
 */
export async function mendSums(redis: RedisConnection): Promise<readonly WrongSum[]> {
  const posting = createPosting(redis)
  const wrong: WrongSum[] = []
  for (const [shard, names] of await posting.findNames(allShards)) {
    const sums = await posting.recount(shard, names)
    if (sums !== 'too_many') wrong.push(...sums)
  }
  return wrong
}
