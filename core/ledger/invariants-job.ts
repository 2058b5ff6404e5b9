import type { Pool } from 'pg'
import { Gauge, type Registry } from 'prom-client'
import type { Job } from '../process/job.ts'
import type { Log } from '../process/log.ts'
import { auditBooksIfDue, findAuditAge } from './internal/audit-books.ts'
import { type LookFindings, lookAtBooks } from './internal/look-at-books.ts'
import { measureNotes } from './internal/notes.ts'

/** Longest query of an audit; the pool of these jobs allows it. Whole tables are read at night. */
export const auditStatementTimeoutMs = 3_600_000

/** Time between two looks whether an audit is due. */
const auditEveryMs = 60_000
/** Time between two measurements of the unverified rows: each reads all of the notes. */
const backlogEveryMs = 5_000

type Deps = {
  /**
   * Has four connections (an incremental audit, a full audit, a measurement, and one to end these), and its
   * statements may take `auditStatementTimeoutMs`.
   */
  readonly pool: Pool
  /** Time between two looks at what has changed. */
  readonly everyMs: number
  readonly registry: Registry
  readonly log: Log
}

/**
 * Check the money invariants: incremental audits check all of them for recent changes, and a full audit
 * checks everything once a night. One worker at a time each. The incremental audits log and measure breaches
 * and rejected charges.
 */
export function invariantsJobs({ pool, everyMs, registry, log }: Deps): Job[] {
  const metrics = createMetrics(registry)
  return [
    {
      name: 'invariants',
      everyMs,
      retryMsMax: everyMs,
      mayFail: true,
      async run(stopping) {
        try {
          const findings = await lookAtBooks(pool, stopping)
          show(metrics, findings, log)
          showAge(metrics, await findAuditAge(pool))
          return findings?.more ? 'more' : 'idle'
        } catch (error) {
          show(metrics, undefined, log)
          throw error
        }
      },
    },
    {
      name: 'invariants_audit',
      everyMs: auditEveryMs,
      retryMsMax: auditEveryMs,
      mayFail: true,
      async run(stopping) {
        await auditBooksIfDue(pool, stopping)
        return 'idle'
      },
    },
    {
      name: 'invariants_backlog',
      everyMs: backlogEveryMs,
      mayFail: true,
      async run() {
        const { count, ageSeconds } = await measureNotes(pool)
        metrics.unchecked.set(count)
        metrics.uncheckedAge.set(ageSeconds)
        return 'idle'
      },
    },
  ]
}

function createMetrics(registry: Registry) {
  const registers = [registry]
  return {
    rejected: new Gauge({
      name: 'model_gateway_rejected_charges',
      help: 'Charges that could not be posted and that no administrator has posted or written off.',
      registers,
    }),
    breaches: new Gauge({
      name: 'model_gateway_invariant_breaches',
      help: 'Known breaches of a money invariant, 1000 at most; no value after a failed audit. Investigate any value above 0.',
      labelNames: ['invariant'] as const,
      registers,
    }),
    unchecked: new Gauge({
      name: 'model_gateway_invariants_unchecked',
      help: 'Changed rows of the ledger, of requests and of other tables that no incremental audit has checked yet.',
      registers,
    }),
    uncheckedAge: new Gauge({
      name: 'model_gateway_invariants_unchecked_age_seconds',
      help: 'Time since the oldest unchecked row changed. Up to INVARIANTS_EVERY_MS is normal.',
      registers,
    }),
    auditAge: new Gauge({
      name: 'model_gateway_invariants_audit_age_seconds',
      help: 'Time since the start of the last completed full audit. There is one each night.',
      registers,
    }),
  }
}

type Metrics = ReturnType<typeof createMetrics>

/**
 * `undefined`: another worker ran the check, or no worker could. An old finding must not be shown as current.
 */
function show(metrics: Metrics, findings: LookFindings | undefined, log: Log): void {
  metrics.breaches.reset()
  metrics.rejected.remove()
  if (findings === undefined) return
  metrics.rejected.set(findings.rejectedCount)
  for (const { name, breachCount, sample } of findings.breaches) {
    metrics.breaches.set({ invariant: name }, breachCount)
    if (breachCount > 0) log.error({ invariant: name, breachCount, sample }, 'a money invariant is violated')
  }
}

function showAge(metrics: Metrics, seconds: number | undefined): void {
  if (seconds === undefined) metrics.auditAge.remove()
  else metrics.auditAge.set(seconds)
}
