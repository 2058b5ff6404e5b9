import type { KeyHash } from '../keys/key.ts'
import type { RedisConnection } from '../redis/redis-connection.ts'
import { readReply } from '../redis/script-reply.ts'
import { epochName, type Shard } from '../redis/shard.ts'
import { type Inspection, parseInspection, refusedUnseen } from './admission-reply.ts'
import { cabinetScripts } from './internal/scripts.ts'

/**
 * What a key may do and has used, as `Admission.inspect` tells it, for a process that may only read. Uses nothing up.
 *
 * @throws RedisUnavailable
 */
export async function lookAtKey(
  redis: RedisConnection,
  shard: Shard,
  secretHash: KeyHash,
): Promise<Inspection> {
  const runId = redis.runId()
  if (runId === undefined) return refusedUnseen
  const args = [0, runId, secretHash]
  return await redis.run(cabinetScripts.inspect, [epochName(shard)], args, (reply) =>
    parseInspection(readReply(reply)),
  )
}
