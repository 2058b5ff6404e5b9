import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { MigrationMismatch, migrate } from '#core/db/migrate'
import { createPool } from '#core/db/pool'
import { postBatch } from '#core/ledger/post-batch'
import type { PostgresServer } from '#standalone/postgres'
import { createCustomer, entryOf, uuidV7 } from '../support/customer.ts'
import { inheritedEnvironment, isSlowRun } from '../support/environment.ts'
import { describeFunctions, readFunctionFiles } from '../support/function-definitions.ts'
import { createOlderDatabase } from '../support/older-database.ts'
import { createDatabase, type TestDatabase } from '../support/postgres.ts'
import { describeSchema, readDescription } from '../support/schema-description.ts'
import { startSystemPostgres } from '../support/system-postgres.ts'

const usual = test.skipIf(isSlowRun)

const root = join(import.meta.dirname, '..', '..')
const allNames = readdirSync(join(root, 'core/db/migrations')).sort()

const emptyDatabase = () => createDatabase({ template: 'template0' })

async function appliedIn({ pool }: TestDatabase): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>('select name from schema_migrations order by name')
  return rows.map(({ name }) => name)
}

usual('an empty database gets every migration, once', async () => {
  await using database = await emptyDatabase()
  expect(await migrate(database.pool)).toEqual({ applied: allNames, newer: [] })
  expect(await migrate(database.pool)).toEqual({ applied: [], newer: [] })
  expect(await appliedIn(database)).toEqual(allNames)
})

usual('twenty migrators at once apply each migration once', async () => {
  await using database = await emptyDatabase()
  const results = await Promise.all(Array.from({ length: 20 }, () => migrate(database.pool)))
  expect(results.flatMap(({ applied }) => applied)).toEqual(allNames)
  expect(await appliedIn(database)).toEqual(allNames)
})

const addRow = ({ pool }: TestDatabase, name: string) =>
  pool.query("insert into schema_migrations (name, sha256) values ($1, 'x')", [name])

usual(
  'a database that a newer version has migrated is left as it is, and the newer migrations are named',
  async () => {
    await using database = await createDatabase()
    await addRow(database, '9998-from-the-future.sql')
    await addRow(database, '9999-from-the-future.sql')
    const newer = ['9998-from-the-future.sql', '9999-from-the-future.sql']
    expect(await migrate(database.pool)).toEqual({ applied: [], newer })
    expect(await appliedIn(database)).toEqual([...allNames, ...newer])
  },
)

usual('a foreign migration between ours is rejected', async () => {
  await using database = await createDatabase()
  await addRow(database, '0010-of-another-branch.sql')
  const refused = migrate(database.pool)
  await expect(refused).rejects.toThrow(MigrationMismatch)
  await expect(refused).rejects.toThrow(
    `0010-of-another-branch.sql, which this version does not know, before ${allNames.at(-1)}`,
  )
})

usual(
  'a newer migration without all of this release is rejected, and none of this release is applied after it',
  async () => {
    await using database = await createOlderDatabase(allNames.length - 1)
    await addRow(database, '9999-from-the-future.sql')
    const before = await appliedIn(database)
    await expect(migrate(database.pool)).rejects.toThrow(
      `9999-from-the-future.sql, which this version does not know, but not ${allNames.at(-1)}`,
    )
    expect(await appliedIn(database)).toEqual(before)
  },
)

usual('a migration that was changed after it was applied is refused', async () => {
  await using database = await createDatabase()
  await database.pool.query('update schema_migrations set sha256 = $2 where name = $1', [
    allNames[0],
    'other',
  ])
  await expect(migrate(database.pool)).rejects.toThrow('was changed after it was applied')
})

usual(
  'the command migrates the database at DATABASE_URL, and reports what is wrong with an invalid URL',
  async () => {
    await using database = await emptyDatabase()
    const run = promisify(execFile)
    const migrateBy = (url: string) =>
      run(process.execPath, [join(root, 'core/db/main.ts')], {
        env: { ...inheritedEnvironment, DATABASE_URL: url },
      })
    expect((await migrateBy(database.url)).stdout).toContain(allNames[0])
    expect((await migrateBy(database.url)).stdout).toBe('The schema is up to date.\n')
    await addRow(database, '9999-from-the-future.sql')
    expect((await migrateBy(database.url)).stdout).toMatch(
      /^The schema is newer than this version.*9999-from-the-future\.sql\.\n$/,
    )
    await expect(migrateBy('here')).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining('DATABASE_URL'),
    })
  },
)

usual(
  'partitions reach from last month to the requested months, for any role and any number of calls',
  async () => {
    await using database = await createDatabase()
    await Promise.all(Array.from({ length: 8 }, () => database.pool.query('select ensure_partitions(5)')))
    const { rows } = await database.pool.query<{ parent: string; count: bigint }>(
      `select inhparent::regclass::text as parent, count(*) from pg_inherits
      where inhparent in ('requests'::regclass, 'balance_ledger'::regclass) group by 1 order by 1`,
    )
    expect(rows).toEqual([
      { parent: 'balance_ledger', count: 8n }, // last month, this one, five ahead, default
      { parent: 'requests', count: 8n },
    ])
  },
)

usual('partitions of requests become days and months again, and no day is without one', async () => {
  await using database = await createDatabase()
  const { pool } = database
  const arrange = async (areDaily: boolean) => {
    await pool.query('select set_daily_partitions($1)', [areDaily])
    await pool.query('select ensure_partitions(3)')
    const { rows } = await pool.query<{ days: number; months: number; uncovered: number }>(
      `select count(*) filter (where to_at - from_at = interval '1 day')::int as days,
              count(*) filter (where to_at - from_at > interval '1 day')::int as months,
              (select count(*)::int from generate_series(date_trunc('month', now(), 'UTC') - interval '20 days',
                                                    now() + interval '33 days', interval '12 hours') t
                where not exists (select from request_partitions() where t >= from_at and t < to_at)) as uncovered
         from request_partitions()`,
    )
    return rows[0]
  }
  // A month that begins within a day stays.
  const { rows } = await pool.query<{ days: number; months: number }>(
    `select today + 34 - (date_trunc('month', today + 1) + interval '1 month')::date as days,
            2 + (date_trunc('month', today + 1) > date_trunc('month', today))::int as months
       from (select (now() at time zone 'UTC')::date as today) t`,
  )
  const { days, months } = rows[0] ?? {}
  expect(await arrange(false)).toEqual({ days: 0, months: 5, uncovered: 0 })
  expect(await arrange(true)).toEqual({ days, months, uncovered: 0 })
  expect(await arrange(true)).toEqual({ days, months, uncovered: 0 })
  const again = await arrange(false)
  expect(again?.uncovered).toBe(0)
  expect(again?.days).toBeGreaterThanOrEqual(days ?? 0)
  const { rows: balance } = await pool.query(
    `select count(*)::int as count from pg_inherits where inhparent = 'balance_ledger'::regclass`,
  )
  expect(balance).toEqual([{ count: 6 }])
})

usual('a month that has requests stays when partitions become days', async () => {
  await using database = await createDatabase()
  const { pool } = database
  const customer = await createCustomer(pool, { balanceNano: 1_000n })
  const later = Date.now() + 62 * 86_400_000
  await postBatch(pool, [entryOf(customer, 3n, { requestId: uuidV7(later) })])
  await pool.query('select set_daily_partitions(true)')
  await pool.query('select ensure_partitions(3)')
  const { rows } = await pool.query('select cost::int from requests')
  expect(rows).toEqual([{ cost: 3 }])
  const { rows: stray } = await pool.query('select from requests_default')
  expect(stray).toEqual([])
})

usual(
  'a partition that a backup keeps from being made holds no charge up, and is made by a later run',
  async () => {
    await using database = await createDatabase()
    const { pool } = database
    const customer = await createCustomer(pool)
    await dropPartition(pool, 3)
    await using backup = await readAllTables(pool)
    const { made } = await makeUntilWaiting(pool)
    await postBatch(pool, [entryOf(customer, 3n)]) // before the backup ends, or never
    expect(await made).toBe(0)
    await backup.end()
    expect(await makePartitions(pool)).toBe(1)
    const triggers = await pool.query(
      `select tgname from pg_trigger where tgrelid = to_regclass('balance_ledger' || to_char(now() + interval '3 months', '_YYYY_MM'))
      order by 1`,
    )
    expect(triggers.rows).toEqual([
      { tgname: 'doubt_change' },
      { tgname: 'refuse_change' },
      { tgname: 'refuse_truncate' },
    ])
  },
)

usual('a partition that is needed now and cannot be made is an error that names it', async () => {
  await using database = await createDatabase()
  await dropPartition(database.pool, 0)
  await using _backup = await readAllTables(database.pool)
  await expect(makePartitions(database.pool)).rejects.toThrow(
    /^partition balance_ledger_\d{4}_\d\d is needed soon/,
  )
})

async function makePartitions(pool: Pool): Promise<number | undefined> {
  const { rows } = await pool.query<{ made: number }>('select ensure_partitions(3) as made')
  return rows[0]?.made
}

/** It waits for a moment only, which may pass unseen: then it is asked again. */
async function makeUntilWaiting(pool: Pool): Promise<{ readonly made: Promise<number | undefined> }> {
  for (;;) {
    let isOver = false
    const made = makePartitions(pool).finally(() => {
      isOver = true
    })
    while (!isOver) if (await isSomebodyWaiting(pool)) return { made }
    expect(await made).toBe(0)
  }
}

async function dropPartition(pool: Pool, monthsAhead: number): Promise<void> {
  const month = await pool.query(
    `select to_char(now() at time zone 'UTC' + make_interval(months => $1), 'YYYY_MM') as name`,
    [monthsAhead],
  )
  await pool.query(`drop table balance_ledger_${month.rows[0].name}`)
}

/** Holds the locks that pg_dump holds while it runs. */
async function readAllTables(pool: Pool) {
  const client = await pool.connect()
  await client.query('set idle_in_transaction_session_timeout = 0')
  await client.query('begin isolation level repeatable read')
  await client.query('select from balance_ledger, requests')
  const end = async () => void (await client.query('commit'))
  return { end, [Symbol.asyncDispose]: () => end().finally(() => client.release(true)) }
}

async function isSomebodyWaiting(pool: Pool): Promise<boolean> {
  const { rowCount } = await pool.query(
    "select from pg_stat_activity where wait_event_type = 'Lock' and query like '%ensure_partitions%' and datname = current_database()",
  )
  return rowCount !== 0
}

usual.each([
  [
    'requests',
    'select id from requests where organization_id = $1 and (ts, id) < ($2, $3) order by ts desc, id desc',
  ],
  ['usage', 'select cost from usage_hourly where organization_id = $1 and hour < $2 order by hour desc'],
])(
  'a page of an organization’s %s is read newest first from an index, and nothing is sorted',
  async (_, query) => {
    await using database = await createDatabase()
    const client = await database.pool.connect()
    // As with rows in the tables.
    await client.query('set enable_seqscan = off; set enable_bitmapscan = off')
    const behind = [randomUUID(), new Date(), ...(query.includes('$3') ? [randomUUID()] : [])]
    const { rows } = await client
      .query<{ 'QUERY PLAN': string }>(`explain ${query} limit 50`, behind)
      .finally(() => client.release(true))
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    expect(plan).toMatch(/Index (Only )?Scan using \w*organization_id_\w+_idx/)
    expect(plan).not.toMatch(/Sort\b(?! Key)|Seq Scan/)
  },
)

/** The stores write columns that an older schema does not have. */
async function customerOfOlderSchema(pool: Pool) {
  const [organizationId, keyId] = [randomUUID(), randomUUID()]
  await pool.query('insert into organizations (id, name, shard) values ($1::uuid, $1, 0)', [organizationId])
  await pool.query(
    `insert into api_keys (id, organization_id, name, managed_by) values ($1, $2, 'test', 'cabinet')`,
    [keyId, organizationId],
  )
  return { organizationId, keyId }
}

usual(
  'clusters go on with the routes they have made, and with organizations that they have keys for',
  async () => {
    await using database = await createOlderDatabase(allNames.findIndex((name) => name.startsWith('0028-')))
    const { pool } = database
    const [here, left, cabinets] = await Promise.all([1, 2, 3].map(() => customerOfOlderSchema(pool)))
    if (here === undefined || left === undefined || cabinets === undefined) throw new Error('three were made')
    await pool.query(
      `insert into cluster_resources (cluster_id, kind, namespace, name, uid, generation, subject)
     values ('one', 'ApiKey', 'team', 'key', 'k', 1, $1), ('one', 'ModelRoute', 'team', 'route', 'r', 1, 'a/ours')`,
      [here.keyId],
    )
    await pool.query(
      "insert into orphaned_keys (key_id, cluster_id, namespace, name) values ($1, 'two', 'gone', 'key')",
      [left.keyId],
    )
    await pool.query(
      `insert into model_routes (model, document, free)
     select model, jsonb_build_object('model', model), true from unnest(array['a/ours', 'a/cabinets']) model`,
    )
    await migrate(pool)
    const { rows: seen } = await pool.query(
      'select cluster_id, namespace, organization_id from namespace_observations order by 1',
    )
    expect(seen).toEqual([
      { cluster_id: 'one', namespace: 'team', organization_id: here.organizationId },
      { cluster_id: 'two', namespace: 'gone', organization_id: left.organizationId },
    ])
    const { rows: routes } = await pool.query('select model, cluster_id from model_routes order by 1')
    expect(routes).toEqual([
      { model: 'a/cabinets', cluster_id: null },
      { model: 'a/ours', cluster_id: 'one' },
    ])
  },
)

usual('the schema is the one that core/db/schema.txt describes', async () => {
  await using database = await createDatabase()
  const description = await describeSchema(database.pool)
  expect(description).toBe(await readDescription(description))
})

usual('the functions are those that core/db/functions shows', async () => {
  await using database = await createDatabase()
  const functions = await describeFunctions(database.pool)
  expect(functions).toEqual(await readFunctionFiles(functions))
})

describe.runIf(isSlowRun)('on the system’s own Postgres', () => {
  let postgres: PostgresServer
  beforeAll(async () => {
    postgres = await startSystemPostgres()
  }, 360_000) // may need to be installed first
  afterAll(() => postgres?.[Symbol.asyncDispose]())

  test('a user who may not make roles migrates without them', async () => {
    await using database = await createDatabase({ template: 'template0', clusterUrl: postgres.url })
    await database.pool.query("create role plain login password 'plain'")
    const name = new URL(database.url).pathname.slice(1)
    await database.pool.query(`alter database ${name} owner to plain`)
    const url = Object.assign(new URL(database.url), { username: 'plain', password: 'plain' })
    const pool = createPool({ databaseUrl: url.href, applicationName: 'plain' })
    await migrate(pool).finally(() => pool.end())
    const { rows } = await database.pool.query("select from pg_roles where rolname like 'model_gateway%'")
    expect(rows).toHaveLength(0)
  })

  test('a role that another database’s migration is just making is no obstacle', async () => {
    await using database = await createDatabase({ template: 'template0', clusterUrl: postgres.url })
    const other = await database.pool.connect()
    await other.query('begin')
    await other.query('create role model_gateway_worker nologin')
    const migrated = migrate(database.pool)
    await vi.waitFor(async () => {
      const { rows } = await database.pool.query(
        "select from pg_stat_activity where wait_event_type = 'Lock' and query like '%create role %'",
      )
      expect(rows).toHaveLength(1)
    })
    await other.query('commit')
    other.release()
    expect((await migrated).applied).toEqual(allNames)
  })

  test('twenty databases migrate at once, to the schema that core/db/schema.txt describes', async () => {
    const databases = await Promise.all(
      Array.from({ length: 20 }, () => createDatabase({ template: 'template0', clusterUrl: postgres.url })),
    )
    const results = await Promise.all(databases.map(({ pool }) => migrate(pool)))
    for (const { applied } of results) expect(applied).toEqual(allNames)
    const [database] = databases
    if (database === undefined) throw new Error('no database')
    const description = await describeSchema(database.pool)
    expect(description).toBe(await readDescription(description))
    const functions = await describeFunctions(database.pool)
    expect(functions).toEqual(await readFunctionFiles(functions))
    await Promise.all(databases.map((each) => each[Symbol.asyncDispose]()))
  })
})
