import type { Queryable } from '#core/db/pool'

/**
 * The hours of the last settled requests of an organization's keys, by key ID. Keys without requests are absent.
 *
 * Looks up one row per model and key, no matter how long the history is.
 */
export async function readLastUsedHours(
  client: Queryable,
  organizationId: string,
  keyIds: readonly string[],
): Promise<ReadonlyMap<string, Date>> {
  const { rows } = await client.query<{ keyId: string; hour: Date }>(
    `select k.id as "keyId", l.hour
       from unnest($2::uuid[]) k (id), lateral (
         with recursive used as (
           (select u.model, u.hour from usage_hourly u
             where u.organization_id = $1 and u.api_key_id = k.id order by u.model desc, u.hour desc limit 1)
           union all
           select n.model, n.hour from used, lateral (
             select u.model, u.hour from usage_hourly u
              where u.organization_id = $1 and u.api_key_id = k.id and u.model < used.model
              order by u.model desc, u.hour desc limit 1) n
         ) select max(hour) as hour from used) l
      where l.hour is not null`,
    [organizationId, keyIds],
  )
  return new Map(rows.map(({ keyId, hour }) => [keyId, hour]))
}
