import type { Pool, PoolClient } from 'pg'
import { type Migration, readMigrations } from './internal/migration-files.ts'
import { keepDatabaseUp } from './upkeep.ts'

/** Advisory lock: one migrator at a time per database. The number is arbitrary but fixed. */
const migrationLock = 0x6d67_0000

/** The database and this program's migrations do not match; a person must look. */
export class MigrationMismatch extends Error {}

/** Names of the migrations that were applied, and of those that a newer version had applied before, in order. */
export type Migrated = { readonly applied: readonly string[]; readonly newer: readonly string[] }

/**
 * Brings the database to the newest schema and does its maintenance (`upkeep.ts`). A database that a newer
 * version has migrated stays as it is: its migrations leave room for this version.
 *
 * Any number of migrators may run at once: they take turns. Each file is one transaction together with its
 * row in `schema_migrations`, so a killed migrator leaves only whole migrations. The pool's time-out bounds
 * each file and the wait for its turn.
 *
 * @throws MigrationMismatch when the database has an unknown migration that is not newer than all of this program's,
 * or one that was changed after it was applied. Then nothing is applied.
 */
export async function migrate(pool: Pool): Promise<Migrated> {
  const client = await pool.connect()
  try {
    await client.query('select pg_advisory_lock($1)', [migrationLock])
    const { pending, newer } = await compare(client, readMigrations())
    for (const migration of pending) await apply(client, migration)
    await keepDatabaseUp(client)
    return { applied: pending.map(({ name }) => name), newer }
  } finally {
    client.release(true) // its session holds the lock
  }
}

/** The output line of a command for it. */
export function sentenceOf({ applied, newer }: Migrated): string {
  if (newer.length > 0)
    return `The schema is newer than this version, which works with it and leaves it as it is: it has ${newer.join(', ')}.`
  return applied.length === 0 ? 'The schema is up to date.' : `Applied ${applied.join(', ')}.`
}

async function compare(
  client: PoolClient,
  known: readonly Migration[],
): Promise<{ pending: readonly Migration[]; newer: readonly string[] }> {
  await client.query(`create table if not exists schema_migrations (
    name text primary key, sha256 text not null, applied_at timestamptz not null default now())`)
  const { rows } = await client.query<{ name: string; sha256: string }>(
    'select name, sha256 from schema_migrations order by name',
  )
  const pending = known.filter(({ name }) => !rows.some((applied) => applied.name === name))
  const unknown = rows.map(({ name }) => name).filter((name) => !known.some((ours) => ours.name === name))
  const newest = known.at(-1)?.name ?? ''
  const stray = unknown.find((name) => name < newest || pending.length > 0)
  if (stray !== undefined)
    throw new MigrationMismatch(
      `The database has migration ${stray}, which this version does not know, ${
        stray < newest ? `before ${newest}` : `but not ${pending[0]?.name}`
      }. Use the version that applied it, or a newer one.`,
    )
  for (const { name, sha256 } of known) {
    const applied = rows.find((row) => row.name === name)
    if (applied !== undefined && applied.sha256 !== sha256)
      throw new MigrationMismatch(
        `Migration ${name} was changed after it was applied. Restore the file and put the change into a new migration.`,
      )
  }
  return { pending, newer: unknown }
}

/** Longer waits for a table would hold up everything that uses it; a backup, for example, keeps its locks for hours. */
const lockTimeout = '5s'

async function apply(client: PoolClient, { name, sql, sha256 }: Migration): Promise<void> {
  await client.query('begin')
  try {
    await client.query(`set local lock_timeout = '${lockTimeout}'`)
    await client.query('insert into schema_migrations (name, sha256) values ($1, $2)', [name, sha256])
    await client.query(sql)
    await client.query('commit')
  } catch (cause) {
    throw new Error(`Migration ${name} failed: ${cause instanceof Error ? cause.message : cause}`, { cause })
  }
}
