import type { Queryable } from '../db/pool.ts'
import { type NanoRub, nanoRub } from './money.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** Moscow's clock, which has been the same all year since 2014. */
const moscowMs = 3 * hourMs

/** When the Moscow day of an instant ends, Unix milliseconds. Pure. */
export function moscowDayEndMs(nowMs: number): number {
  return (Math.floor((nowMs + moscowMs) / dayMs) + 1) * dayMs - moscowMs
}

/** The Moscow day that is now. */
export const moscowTodaySql = `(now() at time zone 'UTC' + interval '3 hours')::date`

/**
 * The spending of an organization's keys in today's Moscow day according to Postgres, by key id; absent:
 * nothing.
 */
export async function readSpentToday(
  client: Queryable,
  organizationId: string,
  keyIds: readonly string[],
): Promise<ReadonlyMap<string, NanoRub>> {
  const { rows } = await client.query<{ keyId: string; amount: bigint }>(
    `select s.key_id as "keyId", s.amount from key_daily_spend s join api_keys k on k.id = s.key_id
      where k.organization_id = $1 and k.id = any($2::uuid[])
        and s.day = ${moscowTodaySql}`,
    [organizationId, keyIds],
  )
  return new Map(rows.map(({ keyId, amount }) => [keyId, nanoRub(amount)]))
}
