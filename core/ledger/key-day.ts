import type { Queryable } from '../db/pool.ts'
import { type NanoRub, nanoRub } from './money.ts'

/** The day that is now in an organization's time zone, given a column or parameter with the zone. */
export const todaySql = (timeZone: string) => `(now() at time zone ${timeZone})::date`

/**
 * The spending of an organization's keys today, in its time zone, according to Postgres, by key id; absent: nothing.
 */
export async function readSpentToday(
  client: Queryable,
  organizationId: string,
  keyIds: readonly string[],
): Promise<ReadonlyMap<string, NanoRub>> {
  const { rows } = await client.query<{ keyId: string; amount: bigint }>(
    `select s.key_id as "keyId", s.amount from key_daily_spend s join api_keys k on k.id = s.key_id
            join organizations o on o.id = k.organization_id and s.day = ${todaySql('o.time_zone')}
      where k.organization_id = $1 and k.id = any($2::uuid[])`,
    [organizationId, keyIds],
  )
  return new Map(rows.map(({ keyId, amount }) => [keyId, nanoRub(amount)]))
}

/** When the day of an organization ends, Unix milliseconds. */
export async function readDayEndMs(client: Queryable, organizationId: string): Promise<number> {
  const { rows } = await client.query<{ atMs: number }>(
    `select floor(extract(epoch from (${todaySql('time_zone')} + 1)::timestamp at time zone time_zone) * 1000)::float8
              as "atMs"
       from organizations where id = $1`,
    [organizationId],
  )
  const [day] = rows
  if (day === undefined) throw new Error(`there is no organization ${organizationId}`)
  return day.atMs
}
