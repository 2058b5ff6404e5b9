import type { Pool } from 'pg'
import type { Job } from '#core/process/job'

/** A reset is carried out at most this long after it is due. */
const everyMs = 10_000
/** Users whose rows one transaction holds. The rest follow immediately. */
const countMax = 100

/** Removes lost second factors a day after two administrators agreed. Each is one transaction, with its audit row and email. */
export function totpResetJob(pool: Pool): Job {
  return {
    name: 'totp_resets',
    everyMs,
    async run() {
      const { rows } = await pool.query<{ count: number }>('select carry_out_totp_resets($1) as count', [
        countMax,
      ])
      return rows[0]?.count === countMax ? 'more' : 'idle'
    },
  }
}
