import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { createPool } from '#cabinet/db'
import { MigrationMismatch, migrate } from '#cabinet/migrate'
import type { PostgresServer } from '#standalone/postgres'
import { createDatabase, type TestDatabase } from '../support/postgres.ts'
import { describeSchema, readDescription } from '../support/schema-description.ts'
import { startSystemPostgres } from '../support/system-postgres.ts'

const root = join(import.meta.dirname, '..', '..')
const allNames = readdirSync(join(root, 'cabinet/db/migrations')).sort()

const emptyDatabase = () => createDatabase({ template: 'template0' })

async function appliedIn({ pool }: TestDatabase): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>('select name from schema_migrations order by name')
  return rows.map(({ name }) => name)
}

test('an empty database gets every migration, once', async () => {
  await using database = await emptyDatabase()
  expect(await migrate(database.pool)).toEqual(allNames)
  expect(await migrate(database.pool)).toEqual([])
  expect(await appliedIn(database)).toEqual(allNames)
})

test('twenty migrators at once apply each migration once', async () => {
  await using database = await emptyDatabase()
  const applied = await Promise.all(Array.from({ length: 20 }, () => migrate(database.pool)))
  expect(applied.flat()).toEqual(allNames)
  expect(await appliedIn(database)).toEqual(allNames)
})

test('a database that knows more than this program is refused', async () => {
  await using database = await createDatabase()
  await database.pool.query(
    "insert into schema_migrations (name, sha256) values ('9999-from-the-future.sql', 'x')",
  )
  const refused = migrate(database.pool)
  await expect(refused).rejects.toThrow(MigrationMismatch)
  await expect(refused).rejects.toThrow('9999-from-the-future.sql')
})

test('a migration that was changed after it was applied is refused', async () => {
  await using database = await createDatabase()
  await database.pool.query('update schema_migrations set sha256 = $2 where name = $1', [
    allNames[0],
    'other',
  ])
  await expect(migrate(database.pool)).rejects.toThrow('was changed after it was applied')
})

test('the command migrates what DATABASE_URL names, and says what is wrong with one that is none', async () => {
  await using database = await emptyDatabase()
  const run = promisify(execFile)
  const migrateBy = (url: string) =>
    run(process.execPath, [join(root, 'cabinet/db/main.ts')], { env: { DATABASE_URL: url } })
  expect((await migrateBy(database.url)).stdout).toContain(allNames[0])
  expect((await migrateBy(database.url)).stdout).toBe('nothing to migrate\n')
  await expect(migrateBy('here')).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining('DATABASE_URL'),
  })
})

test('partitions reach from last month to the months asked for, whoever asks and however often', async () => {
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
})

test('the schema is the one that cabinet/db/schema.txt describes', async () => {
  await using database = await createDatabase()
  const description = await describeSchema(database.pool)
  expect(description).toBe(await readDescription(description))
})

describe('on the system’s own Postgres', () => {
  let postgres: PostgresServer
  beforeAll(async () => {
    postgres = await startSystemPostgres()
  }, 360_000) // it may have to be installed first
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
    expect(await migrated).toEqual(allNames)
  })

  test('twenty databases migrate at once, to the schema that cabinet/db/schema.txt describes', async () => {
    const databases = await Promise.all(
      Array.from({ length: 20 }, () => createDatabase({ template: 'template0', clusterUrl: postgres.url })),
    )
    const applied = await Promise.all(databases.map(({ pool }) => migrate(pool)))
    for (const names of applied) expect(names).toEqual(allNames)
    const [database] = databases
    if (database === undefined) throw new Error('no database')
    const description = await describeSchema(database.pool)
    expect(description).toBe(await readDescription(description))
    await Promise.all(databases.map((each) => each[Symbol.asyncDispose]()))
  })
})
