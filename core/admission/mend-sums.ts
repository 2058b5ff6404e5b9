import type { RedisServers } from '../redis/redis-connection.ts'
import { allShards } from '../redis/shard.ts'
import type { WrongSum } from './counted-names.ts'
import { createPosting } from './posting.ts'

/**
 * Recalculates what is pending and held in every shard from its entries and holds. Reconciles each sum that
 * differs and returns those. Scans all of Redis.
 *
 * @throws RedisUnavailable
 */
export async function mendSums(redis: RedisServers): Promise<readonly WrongSum[]> {
  const posting = createPosting(redis)
  const wrong: WrongSum[] = []
  for (const [shard, names] of await posting.findNames(allShards)) {
    const sums = await posting.recount(shard, names)
    if (sums !== 'too_many') wrong.push(...sums)
  }
  return wrong
}
