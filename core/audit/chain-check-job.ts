import type { Pool } from 'pg'
import { Gauge, type Registry } from 'prom-client'
import { inTransaction } from '../db/transaction.ts'
import type { Job } from '../process/job.ts'
import type { Log } from '../process/log.ts'
import { findChainCheck } from './chain-check.ts'
import { verifyChainIn } from './verify-chain.ts'

/** Time between two looks whether a check is due, and at what the last one found. */
const everyMs = 60_000
/** Advisory lock of the checking process. Any fixed number. */
const checkLock = 0x6d67_0006

type Deps = {
  /** Its statements may take as long as reading the log does. */
  readonly pool: Pool
  readonly registry: Registry
  readonly log: Log
}

/**
 * Checks the whole chain of the audit log once a night, by one worker. Every worker shows what the last check found, so
 * that its metrics do not depend on which one checked.
 */
export function auditChainCheckJob({ pool, registry, log }: Deps): Job {
  const metrics = createMetrics(registry)
  return {
    name: 'audit_chain_check',
    everyMs,
    mayFail: true,
    async run(stopping) {
      await checkIfDue(pool, stopping)
      const found = await findChainCheck(pool)
      if (found === undefined) return 'idle'
      metrics.bad.set(found.badCount)
      metrics.age.set((Date.now() - found.checkedAt.getTime()) / 1_000)
      if (found.badCount > 0)
        log.error(
          { badCount: found.badCount, auditId: found.firstBadId, why: found.firstBadWhy },
          'rows of the audit log are not as they were written',
        )
      return 'idle'
    },
  }
}

/** Since 3 o'clock in Moscow, once. A killed check is repeated: it is stored only when it has come to its end. */
async function checkIfDue(pool: Pool, signal: AbortSignal | undefined): Promise<void> {
  await inTransaction(
    pool,
    async (client) => {
      const { rows } = await client.query<{ beganAt: string | null }>(
        `select case when pg_try_advisory_xact_lock($1) then clock_timestamp()::text end as "beganAt"
           from audit_chain_check
          where checked_at is null
             or checked_at < date_trunc('day', now() at time zone 'Europe/Moscow' - interval '3 hours')
                             at time zone 'Europe/Moscow' + interval '3 hours'`,
        [checkLock],
      )
      const beganAt = rows[0]?.beganAt ?? undefined
      if (beganAt === undefined) return
      const { linkedCount, head, badCount, first } = await verifyChainIn(client)
      await client.query(
        `update audit_chain_check set checked_at = $1, linked_count = $2, head = $3, bad_count = $4, first_bad_id = $5,
                first_bad_why = $6`,
        [beganAt, linkedCount, head, badCount, first?.auditId ?? null, first?.why ?? null],
      )
    },
    { isolation: 'repeatable read', ...(signal === undefined ? {} : { signal }) },
  )
}

function createMetrics(registry: Registry) {
  const registers = [registry]
  return {
    bad: new Gauge({
      name: 'model_gateway_audit_chain_bad_rows',
      help: 'Rows of the audit log that were edited or deleted, as the last nightly check found. Investigate any value above 0.',
      registers,
    }),
    age: new Gauge({
      name: 'model_gateway_audit_chain_check_age_seconds',
      help: 'Time since the start of the last completed check of the audit log. There is one each night.',
      registers,
    }),
  }
}
