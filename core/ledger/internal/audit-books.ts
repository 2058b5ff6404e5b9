import type { Pool } from 'pg'
import type { Queryable } from '../../db/pool.ts'
import { inTransaction } from '../../db/transaction.ts'
import { wholeChecks } from './whole-checks.ts'

/** Advisory lock of the auditing process. Any fixed number; SQL knows it too: `close_request_partition`. */
const auditLock = 0x6d67_0004
/** Breaches of one invariant that an audit hands on: looks keep no more. */
const suspectCountMax = 1_000
/** Counts of older hours are rarely needed, and can be recalculated. */
const countedDays = 3

type Suspect = { readonly subject: string; readonly thing: string }

/**
 * Runs a full audit of every invariant, if none has run since 3 o'clock in Moscow, or if the incremental
 * audits request it; returns whether it has.
 *
 * The next incremental audit checks its findings, and decides whether they are still broken. So nothing is
 * held up while an audit runs, however long. It is of use only when it has come to its end: a killed one is
 * repeated. One worker at a time.
 */
export async function auditBooksIfDue(pool: Pool, signal?: AbortSignal): Promise<boolean> {
  const audit = async (client: Queryable) => {
    const { rows } = await client.query<{ beganAt: string | null }>(
      `select case when pg_try_advisory_xact_lock($1) then clock_timestamp()::text end as "beganAt"
         from invariant_audit
        where began_at is null or began_at < wanted_since
           or began_at < date_trunc('day', now() at time zone 'Europe/Moscow' - interval '3 hours')
                         at time zone 'Europe/Moscow' + interval '3 hours'`,
      [auditLock],
    )
    const beganAt = rows[0]?.beganAt ?? undefined
    if (beganAt === undefined) return false
    // It writes nothing until it has read everything: a transaction with its own id would hold every cursor
    // back.
    const suspects = await findSuspects(client)
    await client.query(
      'insert into unchecked_things (subject, thing) select * from unnest($1::text[], $2::jsonb[])',
      [suspects.map(({ subject }) => subject), suspects.map(({ thing }) => thing)],
    )
    await client.query('update invariant_audit set began_at = $1', [beganAt])
    await forgetCounted(client)
    return true
  }
  return inTransaction(pool, audit, signal === undefined ? {} : { signal })
}

/** Seconds since the last audit began that came to its end; `undefined`: there was none. */
export async function findAuditAge(client: Queryable): Promise<number | undefined> {
  const { rows } = await client.query<{ seconds: number | null }>(
    'select extract(epoch from clock_timestamp() - began_at)::float8 as seconds from invariant_audit',
  )
  return rows[0]?.seconds ?? undefined
}

async function findSuspects(client: Queryable): Promise<Suspect[]> {
  const suspects: Suspect[] = []
  for (const { of, breaches } of Object.values(wholeChecks)) {
    if (of === undefined) continue
    const columns = of.columns.map((column) => `'${column}', ${column}`).join(', ')
    const { rows } = await client.query<{ thing: string }>(
      `select jsonb_build_object(${columns})::text as thing from (${breaches}) as breach limit ${suspectCountMax}`,
    )
    suspects.push(...rows.map(({ thing }) => ({ subject: of.subject, thing })))
  }
  return suspects
}

async function forgetCounted(client: Queryable): Promise<void> {
  const before = `now() - interval '${countedDays} days'`
  await client.query(`delete from checked_key_days where day < ${before} and not is_open`)
  await client.query(`delete from checked_ledger_hours where hour < ${before} and not is_open`)
  await client.query(`delete from checked_ledger_days where day < ${before} and not is_open`)
  await client.query(`delete from checked_usage_hours where hour < ${before} and not is_open`)
}
