import type { Pool } from 'pg'
import { inTransaction } from '#core/db/transaction'
import type { RedisServers } from '#core/redis/redis-connection'
import { allShards, chargesName, dueName, type Shard, shardPrefix } from '#core/redis/shard'
import { tagOfDropped } from './request-plan.ts'

/** One request as Postgres has it. */
export type Booked = {
  readonly requestId: string
  /** From its record; `undefined` where the provider was never called. */
  readonly tag: number | undefined
  readonly organizationId: string
  /** Net of its ledger rows, positive: what it cost. */
  readonly costNano: bigint
  readonly chargeRows: number
  readonly adjustRows: number
  readonly outcome: string
  readonly usageSource: string
}

/** Rows read at a time: the JSON of a million would not fit at once. */
const pageSize = 5_000

type BookedRow = {
  readonly id: string
  readonly organization_id: string
  readonly cost: bigint
  readonly charges: number
  readonly adjusts: number
  readonly record: { outcome: string; usageSource: string; droppedParameters: string[] } | null
}

/** Every request and everything that was ever charged, also for requests that left no record. */
export async function readBooked(pool: Pool): Promise<readonly Booked[]> {
  return await inTransaction(pool, async (client) => {
    await client.query(
      `declare booked cursor for
       select coalesce(r.id, l.id) as id, coalesce(r.organization_id, l.organization_id) as organization_id, r.record,
              coalesce(l.cost, 0)::bigint as cost, coalesce(l.charges, 0) as charges, coalesce(l.adjusts, 0) as adjusts
         from requests r
         full join (select ref_id as id, organization_id, -sum(amount) as cost,
                           count(*) filter (where kind = 'charge')::int as charges,
                           count(*) filter (where kind = 'adjust')::int as adjusts
                      from balance_ledger where kind in ('charge', 'adjust') group by 1, 2) l on l.id = r.id`,
    )
    const booked: Booked[] = []
    for (;;) {
      const { rows } = await client.query<BookedRow>(`fetch ${pageSize} from booked`)
      if (rows.length === 0) return booked
      booked.push(...rows.map(bookedOf))
    }
  })
}

function bookedOf({ id, organization_id, cost, charges, adjusts, record }: BookedRow): Booked {
  return {
    requestId: id,
    tag: tagOfDropped(record?.droppedParameters ?? []),
    organizationId: organization_id,
    costNano: cost,
    chargeRows: charges,
    adjustRows: adjusts,
    outcome: record?.outcome ?? 'no record',
    usageSource: record?.usageSource ?? 'no record',
  }
}

/** Every ledger row of these requests, as Postgres shows it: for people who look for the cause of a breach. */
export async function readRows(pool: Pool, requestIds: readonly string[]): Promise<readonly string[]> {
  const { rows } = await pool.query<{ row: string }>(
    `select l::text as row from balance_ledger l where ref_id = any($1)
     union all select r::text from requests r where id = any($1)`,
    [requestIds],
  )
  return rows.map(({ row }) => row)
}

/** The lowest balance that each organization ever had in the ledger. */
export async function readLowestBalances(pool: Pool): Promise<ReadonlyMap<string, bigint>> {
  const { rows } = await pool.query<{ organization_id: string; lowest: bigint }>(
    'select organization_id, min(balance_after) as lowest from balance_ledger group by 1',
  )
  return new Map(rows.map(({ organization_id, lowest }) => [organization_id, lowest]))
}

/** The most that each organization spent in one week from Monday, or in one month, by its ledger. */
export async function readGreatestSpending(
  pool: Pool,
  period: 'week' | 'month',
): Promise<ReadonlyMap<string, bigint>> {
  const { rows } = await pool.query<{ organization_id: string; spent: bigint }>(
    `select organization_id, max(spent)::bigint as spent
       from (select organization_id, -sum(amount) as spent from balance_ledger
              where kind in ('charge', 'adjust') group by organization_id, date_trunc($1, day)) of_period
      group by 1`,
    [period],
  )
  return new Map(rows.map(({ organization_id, spent }) => [organization_id, spent]))
}

/** What all top-ups of each organization came to. */
export async function readCredits(pool: Pool): Promise<ReadonlyMap<string, bigint>> {
  const { rows } = await pool.query<{ organization_id: string; total: bigint }>(
    "select organization_id, sum(amount)::bigint as total from balance_ledger where kind = 'adjustment' group by 1",
  )
  return new Map(rows.map(({ organization_id, total }) => [organization_id, total]))
}

export async function countRejected(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ count: number }>('select count(*)::int as count from charges_rejected')
  return rows[0]?.count ?? 0
}

/** Holds that are still open, and charges that wait for Postgres. */
export async function countOpen(servers: RedisServers): Promise<{ holds: number; charges: number }> {
  const counts = await Promise.all(
    allShards.map((shard) =>
      servers.connectionOf(shard).ask(async (redis) => ({
        holds: await redis.zcard(dueName(shard)),
        charges: await redis.xlen(chargesName(shard)),
      })),
    ),
  )
  return {
    holds: counts.reduce((sum, { holds }) => sum + holds, 0),
    charges: counts.reduce((sum, { charges }) => sum + charges, 0),
  }
}

/**
 * Where Redis differs from Postgres: a balance or a key's day that is not what is posted, or something still pending or
 * held. Empty when all is at rest and equal.
 */
export async function findDifferences(pool: Pool, servers: RedisServers): Promise<readonly string[]> {
  const { rows: accounts } = await pool.query<{ id: string; shard: number; balance: bigint }>(
    'select o.id, o.shard, a.balance from organizations o join org_account a on a.organization_id = o.id',
  )
  const { rows: days } = await pool.query<{ key_id: string; shard: number; day: number; amount: bigint }>(
    `select s.key_id, o.shard, s.day - date '1970-01-01' as day, s.amount
       from key_daily_spend s join api_keys k on k.id = s.key_id join organizations o on o.id = k.organization_id`,
  )
  const compare = async (shard: Shard, rest: string, prefix: string, posted: bigint) => {
    const name = `${shardPrefix(shard)}${rest}`
    const fields = ['posted', 'pending', 'held'].map((field) => `${prefix}${field}`)
    const found = await servers.connectionOf(shard).ask((redis) => redis.hmget(name, ...fields))
    const [postedThere = '0', pending = '0', held = '0'] = found.map((value) => value ?? '0')
    if (BigInt(postedThere) === posted && pending === '0' && held === '0') return []
    return [`${name} ${prefix} posted ${postedThere}, Postgres ${posted}, pending ${pending}, held ${held}`]
  }
  const differences = await Promise.all([
    ...accounts.map(({ id, shard, balance }) => compare(shardAt(shard), `org:${id}`, '', balance)),
    ...days.map(({ key_id, shard, day, amount }) =>
      compare(shardAt(shard), `use:${key_id}`, `${day}:`, amount),
    ),
  ])
  return differences.flat()
}

function shardAt(shard: number): Shard {
  const known = allShards[shard]
  if (known === undefined) throw new Error(`there is no shard ${shard}`)
  return known
}
