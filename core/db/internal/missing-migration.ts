import { DatabaseError } from 'pg'
import type { Queryable } from '../pool.ts'
import { listMigrations } from './migration-files.ts'

/** SQLSTATEs of a role that may not read `schema_migrations` yet, and of a database without it. */
const unreadable = new Set(['42501', '42P01'])

/** The newest of our migrations that this database lacks. @throws when Postgres cannot be asked. */
export async function findMissingMigration(client: Queryable): Promise<string | undefined> {
  const ours = listMigrations()
  try {
    const { rows } = await client.query<{ name: string }>('select name from schema_migrations')
    const applied = new Set(rows.map(({ name }) => name))
    return ours.findLast((name) => !applied.has(name))
  } catch (error) {
    if (error instanceof DatabaseError && unreadable.has(error.code ?? '')) return ours.at(-1)
    throw error
  }
}
