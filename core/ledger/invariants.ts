import type { Queryable } from '../db/pool.ts'
import { type InvariantName, wholeChecks } from './internal/whole-checks.ts'

/** One promise about money, checked in the data themselves. */
export type InvariantReport = {
  readonly name: InvariantName
  /** 0, or a person must look. */
  readonly breachCount: number
  /** One breach, as Postgres prints it; `null` when there is none. */
  readonly sample: string | null
}

/** Checks every invariant in all that there is and answers a report of each, sound ones too. Writes nothing. */
export async function checkInvariants(client: Queryable): Promise<InvariantReport[]> {
  const reports: InvariantReport[] = []
  for (const [name, { breaches }] of Object.entries(wholeChecks)) {
    const { rows } = await client.query<{ count: number; sample: string | null }>(
      `select count(*)::int as count, min(breach::text) as sample from (${breaches}) as breach`,
    )
    const [{ count, sample } = { count: 0, sample: null }] = rows
    reports.push({ name: name as InvariantName, breachCount: count, sample })
  }
  return reports
}
