import type { Pool } from 'pg'
import type { Job } from '#core/process/job'

const everyMs = 600_000
/** Rows of one kind that one run removes. The rest follow immediately. */
const countMax = 1_000

/** Removes expired sessions, email links and idempotency keys. */
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
