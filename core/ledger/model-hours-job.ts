import type { Pool } from 'pg'
import type { Job } from '../process/job.ts'

/** Pages show a failing model a minute later. */
const everyMs = 60_000

/** A request is posted when it has ended, up to an hour after it began: then its hour is measured again. */
const againMs = 3_600_000
const again = { slice: '30 seconds', rows: 300 }

/** Once, if there are no measurements: what the pages show. Fewer requests, because there are 84 times as many hours. */
const firstMs = 7 * 24 * 3_600_000
const first = { slice: '10 minutes', rows: 200 }

/**
 * Keeps `model_hours`: how fast models respond and how often they fail.
 *
 * A run reads at most 72,000 requests by an index, however many there are.
 */
export function modelHoursJob(pool: Pool): Job {
  return {
    name: 'model_hours',
    everyMs,
    retryMsMax: everyMs,
    mayFail: true,
    async run() {
      const { rows } = await pool.query<{ isEmpty: boolean }>(
        'select not exists (select from model_hours) as "isEmpty"',
      )
      const isFirst = rows[0]?.isEmpty === true
      const { slice, rows: sliceRows } = isFirst ? first : again
      await pool.query('select measure_models(now() - make_interval(secs => $1), $2::interval, $3)', [
        (isFirst ? firstMs : againMs) / 1000,
        slice,
        sliceRows,
      ])
      return 'idle'
    },
  }
}
