import type { Pool } from 'pg'
import { inTransaction } from '../../db/transaction.ts'
import { checkInvariants, type InvariantReport } from '../../ledger/invariants.ts'

/** Advisory lock of the worker that audits; arbitrary but fixed. */
const auditLock = 0x6d67_0002
/** Shortest time that a query of an audit gets, whatever its interval. */
const statementTimeoutMsMin = 20_000

/** What an audit of the books found. */
export type Findings = {
  /** One of each invariant, sound ones too. */
  readonly reports: readonly InvariantReport[]
  /** Entries that could not be booked, ever. */
  readonly rejectedCount: number
}

/**
 * Checks every invariant and counts the rejected charges, or answers `undefined` when another worker does so now.
 *
 * @param pool whose statements may take `auditStatementTimeoutMs`: then DatabaseError 57014 is thrown.
 */
export async function audit(pool: Pool): Promise<Findings | undefined> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<{ mine: boolean }>('select pg_try_advisory_xact_lock($1) as mine', [
      auditLock,
    ])
    if (!rows[0]?.mine) return undefined
    const reports = await checkInvariants(client)
    const rejected = await client.query<{ count: number }>(
      'select count(*)::int as count from charges_rejected',
    )
    return { reports, rejectedCount: rejected.rows[0]?.count ?? 0 }
  })
}

/**
 * Longest query of an audit: a third of its interval, 20 s at least. It reads whole tables, and must not become what
 * slows the database down; whoever has large ones audits less often, and each query may take longer.
 */
export function auditStatementTimeoutMs(everyMs: number): number {
  return Math.max(statementTimeoutMsMin, Math.round(everyMs / 3))
}
