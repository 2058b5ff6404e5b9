import { commonTag } from './common-name.ts'
import { hashSlotOf } from './internal/hash-slot.ts'
import { allShards, type Shard, shardTag } from './shard.ts'

const slots = allShards.map((shard) => hashSlotOf(shardTag(shard)))

/** The hash slot of everything in a shard. */
export function slotOfShard(shard: Shard): number {
  return slots[shard] ?? hashSlotOf(shardTag(shard))
}

/** The hash slot of everything outside the shards. */
export const commonSlot = hashSlotOf(commonTag)
