import type { Pool } from 'pg'
import type { Job } from '../process/job.ts'

const everyMs = 1_000
/** Rows that one transaction links, in about 50 ms. The rest follow immediately. */
const linkedCountMax = 1_000

/** Links new rows of the audit log, so that changed rows are found. Only one worker links at a time. */
export function auditChainJob(pool: Pool): Job {
  return {
    name: 'audit_chain',
    everyMs,
    mayFail: true,
    async run() {
      const { rows } = await pool.query<{ count: number }>('select link_audit_rows($1) as count', [
        linkedCountMax,
      ])
      return rows[0]?.count === linkedCountMax ? 'more' : 'idle'
    },
  }
}
