import type { Pool } from 'pg'
import type { Job } from '../process/job.ts'

const everyMs = 600_000
/** Rows of one kind that one run removes; the rest follow at once. */
const countMax = 1_000

/** Removes sessions, links of letters and idempotency keys that have expired. */
export function expiryJob(pool: Pool): Job {
  return {
    name: 'expiry',
    everyMs,
    async run() {
      const { rows } = await pool.query<{ count: number }>('select remove_expired($1) as count', [countMax])
      return rows[0]?.count === countMax ? 'more' : 'idle'
    },
  }
}
