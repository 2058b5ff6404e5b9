import type { Pool } from 'pg'
import { putPrice } from '#core/catalog/catalog-store'
import { createKey } from '#core/keys/key-store'
import { nanoRub } from '#core/ledger/money'
import { type Customer, createCustomer, type KeyOwner, pepper, recordOf } from '../support/customer.ts'
import { makeOldPartitions } from '../support/old-partitions.ts'
import { inTestScope } from '../support/scope.ts'

/** A month of the past and the last weeks, with as many requests each; four of five are of one organization with ten keys. */
export type ManyRequests = {
  readonly large: Customer
  readonly price: { readonly id: string }
  readonly old: { readonly fromMs: number; readonly toMs: number }
  readonly recent: { readonly fromMs: number; readonly toMs: number }
}

const keysOfLarge = 10
const smallCount = 50
const rowsOfInsert = 200_000
const dayMs = 86_400_000
/** Of last month, which has a partition. */
const recentDays = 20
const models = ['bench/large', 'bench/small', 'bench/coder', 'bench/vision']

/** Writes requests without charges; no trigger runs, so that only their number takes time. */
export async function makeManyRequests(pool: Pool, rows: number): Promise<ManyRequests> {
  const [, { fromMs }, next] = await makeOldPartitions(pool)
  const old = { fromMs, toMs: next.fromMs }
  const { rows: ensured } = await pool.query<{ fromMs: number }>(
    `select (extract(epoch from max(from_at)) * 1000)::float8 as "fromMs" from request_partitions() where from_at <= now()`,
  )
  const recent = { fromMs: (ensured[0]?.fromMs ?? 0) - recentDays * dayMs, toMs: Date.now() - 60_000 }
  const large = await createCustomer(pool, { balanceNano: 10n ** 18n })
  const owners: KeyOwner[] = [large]
  for (let n = 1; n < keysOfLarge; n++)
    owners.push({ organizationId: large.organizationId, keyId: await createOtherKey(pool, large, n) })
  for (let n = 0; n < smallCount; n++) owners.push(await createCustomer(pool))
  const price = await makePrice(pool)
  const records = models.map((model) => recordOf({ modelAsked: model, modelRan: model, priceId: price.id }))
  const client = await pool.connect()
  try {
    await client.query("set session_replication_role = 'replica'")
    for (const { fromMs: first, toMs } of [old, recent])
      for (let made = 0; made < rows / 2; made += rowsOfInsert) {
        const count = Math.min(rowsOfInsert, rows / 2 - made)
        await client.query(insertSql, [
          count,
          first,
          toMs - first,
          owners.map(({ organizationId }) => organizationId),
          owners.map(({ keyId }) => keyId),
          records.map((record) => JSON.stringify(record)),
        ])
      }
  } finally {
    client.release(true)
  }
  await pool.query('vacuum analyze requests')
  return { large, price, old, recent }
}

async function createOtherKey(pool: Pool, { organizationId }: Customer, n: number): Promise<string> {
  const key = { organizationId, name: `key ${n}`, managedBy: 'cabinet' } as const
  const { keyId } = await inTestScope(pool, (client) => createKey(client, key, pepper))
  return keyId
}

async function makePrice(pool: Pool): Promise<{ readonly id: string }> {
  const none = { cachedInput: null, cacheWrite: null, reasoning: null, perRequest: nanoRub(0n) }
  const fields = { ...none, input: nanoRub(10_000n), output: nanoRub(30_000n) }
  const { priceId } = await inTestScope(pool, (client) => putPrice(client, models[0] ?? '', fields))
  return { id: priceId }
}

/** Random times, owners, models, tokens and durations; one of 25 failed. */
const insertSql = `
  with random_row as materialized (
    select ($2::bigint + floor(random() * $3::bigint))::bigint as ms, md5(random()::text || n) as noise,
           case when random() < 0.8 then 1 + floor(random() * ${keysOfLarge})::int
                else ${keysOfLarge + 1} + floor(random() * ${smallCount})::int end as owner,
           1 + floor(random() * ${models.length})::int as model, floor(random() * 8000)::int as input,
           floor(random() * 1500)::int as output, 200 + floor(random() * 20000)::int as total_ms, random() < 0.04 as has_failed
      from generate_series(1, $1::int) n
  ), named as (
    select *, lpad(to_hex(ms), 12, '0') as hex from random_row
  ), request as (
    select *, (substr(hex, 1, 8) || '-' || substr(hex, 9) || '-7' || substr(noise, 1, 3) || '-8' || substr(noise, 4, 3) || '-'
               || substr(noise, 7, 12))::uuid as id from named
  )
  insert into requests (id, ts, organization_id, api_key_id, rank, cost, day, record, booked_at, updated_at)
  select id, uuid_time(id), ($4::uuid[])[owner], ($5::uuid[])[owner], 1,
         case when has_failed then 0 else input * 10000 + output * 30000 end,
         (uuid_time(id) at time zone 'Europe/Moscow')::date,
         jsonb_set(($6::jsonb[])[model], '{attempts,0,ms}', to_jsonb(total_ms - 5)) || jsonb_build_object(
           'totalMs', total_ms, 'firstContentMs', total_ms / 10, 'stream', input % 2 = 0,
           'outcome', case when has_failed then 'upstream_cut' else 'completed' end,
           'tokens', ($6::jsonb[])[model] -> 'tokens' || jsonb_build_object('input', input, 'output', output)),
         uuid_time(id) + make_interval(secs => 1 + total_ms / 1000.0),
         uuid_time(id) + make_interval(secs => 1 + total_ms / 1000.0)
    from request order by id`
