import type { KeyHash } from '../keys/key.ts'
import type { RedisServers } from '../redis/redis-connection.ts'
import { readReply } from '../redis/script-reply.ts'
import { epochName, type Shard } from '../redis/shard.ts'
import { fromAnywhere, type Inspection, parseInspection, refusedUnseen } from './admission-reply.ts'
import { argumentNames, argumentsOf } from './internal/script-arguments.ts'
import { cabinetScripts } from './internal/scripts.ts'

/**
 * What a key may do and has used, as `Admission.inspect` returns it, for a process with read-only
 * permissions. Consumes no limits.
 *
 * @throws RedisUnavailable
 */
export async function lookAtKey(redis: RedisServers, shard: Shard, secretHash: KeyHash): Promise<Inspection> {
  const connection = redis.connectionOf(shard)
  const runId = connection.runId()
  if (runId === undefined) return refusedUnseen
  const args = argumentsOf(argumentNames.key, {
    clock_offset_ms: 0,
    run_id: runId,
    secret_hash: secretHash,
    ips_id: fromAnywhere,
  })
  return await connection.run(cabinetScripts.inspect, [epochName(shard)], args, (reply) => {
    const inspection = parseInspection(readReply(reply))
    if (inspection.outcome === 'unchecked')
      throw new TypeError('an address was to be checked without a caller')
    return inspection
  })
}
