import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createDatabase, type TestDatabase } from './postgres.ts'

const folder = join(import.meta.dirname, '../../core/db/migrations')

/** Names of all migrations, in order. */
export const migrationNames: readonly string[] = readdirSync(folder).sort()

/** A database as an older release left it: with only the first migrations. */
export async function createOlderDatabase(migrationCount: number): Promise<TestDatabase> {
  const database = await createDatabase({ template: 'template0' })
  const run = (sql: string) => database.pool.query(sql)
  if (migrationCount > 0)
    await run(`create table schema_migrations (
      name text primary key, sha256 text not null, applied_at timestamptz not null default now())`)
  for (const name of migrationNames.slice(0, migrationCount)) {
    const sql = readFileSync(join(folder, name), 'utf8')
    await database.pool.query(
      "insert into schema_migrations (name, sha256) values ($1, encode(sha256(convert_to($2, 'UTF8')), 'hex'))",
      [name, sql],
    )
    await run(sql)
  }
  return database
}
