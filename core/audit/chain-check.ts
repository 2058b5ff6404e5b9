import type { Queryable } from '../db/pool.ts'

/** What the last nightly check of the audit log found. */
export type ChainCheck = {
  readonly checkedAt: Date
  /** Rows in the chain. */
  readonly linkedCount: number
  readonly head: string
  readonly badCount: number
  /** The first bad row, in the order of the chain. */
  readonly firstBadId: string | null
  readonly firstBadWhy: string | null
}

/** The last check; `undefined`: there was none. */
export async function findChainCheck(client: Queryable): Promise<ChainCheck | undefined> {
  const { rows } = await client.query<ChainCheck>(
    `select checked_at as "checkedAt", linked_count::float8 as "linkedCount", head, bad_count::float8 as "badCount",
            first_bad_id as "firstBadId", first_bad_why as "firstBadWhy"
       from audit_chain_check where checked_at is not null`,
  )
  return rows[0]
}
