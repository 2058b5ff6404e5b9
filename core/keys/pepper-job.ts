import type { Queryable } from '../db/pool.ts'
import type { Job } from '../process/job.ts'
import type { RedisServers } from '../redis/redis-connection.ts'
import { readPepperCheck } from './database-pepper.ts'
import { copyPepperCheck } from './pepper-copy.ts'

/** Gateways check it once, at their start: it is back at most this long after Redis lost it. */
const everyMs = 60_000

/** Copies the check value of the database's pepper from Postgres into Redis, for gateways that start. */
export function pepperJob({ pool, redis }: { readonly pool: Queryable; readonly redis: RedisServers }): Job {
  return {
    name: 'pepper',
    everyMs,
    async run() {
      const check = await readPepperCheck(pool)
      if (check !== undefined) await copyPepperCheck(redis, check)
      return 'idle'
    },
  }
}
