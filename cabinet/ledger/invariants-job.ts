import type { Pool } from 'pg'
import { Gauge, type Registry } from 'prom-client'
import { inTransaction } from '../db/transaction.ts'
import type { Job } from '../process/job.ts'
import type { Log } from '../process/log.ts'
import { checkInvariants, type InvariantReport } from './invariants.ts'

/** Advisory lock of whoever checks. Any fixed number. */
const checkLock = 0x6d67_0002
/** Shortest time that a query of a check gets, whatever its interval. */
const statementTimeoutMsMin = 20_000

/** What a check of the books found. */
type Findings = {
  /** One of each invariant, sound ones too. */
  readonly reports: readonly InvariantReport[]
  /** Entries that could not be booked, ever. */
  readonly rejectedCount: number
}

type Deps = {
  /** Its statements may take `invariantsStatementTimeoutMs`. */
  readonly pool: Pool
  /** Time between two checks. They read whole tables. */
  readonly everyMs: number
  readonly registry: Registry
  readonly log: Log
}

/** Checks every invariant and counts the rejected charges, one worker at a time; a breach is logged and measured. */
export function invariantsJob({ pool, everyMs, registry, log }: Deps): Job {
  const metrics = createMetrics(registry)
  return {
    name: 'invariants',
    everyMs,
    retryMsMax: everyMs,
    onlyMeasures: true,
    async run() {
      const findings = await checkBooks(pool).catch((error: unknown) => {
        show(metrics, undefined)
        throw error
      })
      show(metrics, findings)
      for (const { name, breachCount, sample } of findings?.reports ?? [])
        if (breachCount > 0)
          log.error({ invariant: name, breachCount, sample }, 'a money invariant is violated')
      return 'idle'
    },
  }
}

/**
 * Longest query of a check: a third of its interval, 20 s at least. It reads whole tables, and must not become what
 * slows the database down; whoever has large ones checks less often, and each query may take longer.
 */
export function invariantsStatementTimeoutMs(everyMs: number): number {
  return Math.max(statementTimeoutMsMin, Math.round(everyMs / 3))
}

/** Answers `undefined` when another worker checks now. @throws DatabaseError 57014 where a query takes too long. */
async function checkBooks(pool: Pool): Promise<Findings | undefined> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<{ mine: boolean }>('select pg_try_advisory_xact_lock($1) as mine', [
      checkLock,
    ])
    if (!rows[0]?.mine) return undefined
    const reports = await checkInvariants(client)
    const rejected = await client.query<{ count: number }>(
      'select count(*)::int as count from charges_rejected',
    )
    return { reports, rejectedCount: rejected.rows[0]?.count ?? 0 }
  })
}

function createMetrics(registry: Registry) {
  const registers = [registry]
  return {
    rejected: new Gauge({
      name: 'model_gateway_rejected_charges',
      help: 'Rows in charges_rejected. Each one needs a person.',
      registers,
    }),
    breaches: new Gauge({
      name: 'model_gateway_invariant_breaches',
      help: 'Breaches of a money invariant found by the last audit; no value after a failed audit. Above 0 needs a person.',
      labelNames: ['invariant'] as const,
      registers,
    }),
  }
}

/** `undefined`: another worker has looked, or nobody could. An old finding must not stand for what is so now. */
function show(metrics: ReturnType<typeof createMetrics>, findings: Findings | undefined): void {
  metrics.breaches.reset()
  metrics.rejected.remove()
  if (findings === undefined) return
  metrics.rejected.set(findings.rejectedCount)
  for (const { name, breachCount } of findings.reports) metrics.breaches.set({ invariant: name }, breachCount)
}
