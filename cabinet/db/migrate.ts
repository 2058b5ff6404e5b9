import type { Pool, PoolClient } from 'pg'
import { type Migration, readMigrations } from './internal/migration-files.ts'
import { keepDatabaseUp } from './upkeep.ts'

/** Advisory lock: one migrator at a time per database. The number is arbitrary but fixed. */
const migrationLock = 0x6d67_0000

/** The database and this program's migrations do not match; a person must look. */
export class MigrationMismatch extends Error {}

/**
 * Brings the database to the newest schema, does its upkeep (`upkeep.ts`), and returns the names of the migrations it
 * applied, in order.
 *
 * Any number of migrators may run at once: they take turns. Each file is one transaction together with its row in
 * `schema_migrations`, so a killed migrator leaves only whole migrations. The pool's time-out bounds each file and the
 * wait for its turn.
 *
 * @throws MigrationMismatch when the database has a migration that this program does not know (it is newer), or
 *   one that was changed after it was applied. Then nothing is applied.
 */
export async function migrate(pool: Pool): Promise<string[]> {
  const client = await pool.connect()
  try {
    await client.query('select pg_advisory_lock($1)', [migrationLock])
    const pending = await findPending(client, readMigrations())
    for (const migration of pending) await apply(client, migration)
    await keepDatabaseUp(client)
    return pending.map(({ name }) => name)
  } finally {
    client.release(true) // its session holds the lock
  }
}

async function findPending(client: PoolClient, known: readonly Migration[]): Promise<Migration[]> {
  await client.query(`create table if not exists schema_migrations (
    name text primary key, sha256 text not null, applied_at timestamptz not null default now())`)
  const { rows } = await client.query<{ name: string; sha256: string }>(
    'select name, sha256 from schema_migrations order by name',
  )
  for (const applied of rows) {
    const migration = known.find(({ name }) => name === applied.name)
    if (migration === undefined)
      throw new MigrationMismatch(
        `The database has migration ${applied.name}, which this version does not know. Use the version that applied it, or a newer one.`,
      )
    if (migration.sha256 !== applied.sha256)
      throw new MigrationMismatch(
        `Migration ${applied.name} was changed after it was applied. Restore the file and put the change into a new migration.`,
      )
  }
  return known.filter(({ name }) => !rows.some((applied) => applied.name === name))
}

async function apply(client: PoolClient, { name, sql, sha256 }: Migration): Promise<void> {
  await client.query('begin')
  try {
    await client.query('insert into schema_migrations (name, sha256) values ($1, $2)', [name, sha256])
    await client.query(sql)
    await client.query('commit')
  } catch (cause) {
    throw new Error(`Migration ${name} failed: ${cause instanceof Error ? cause.message : cause}`, { cause })
  }
}
