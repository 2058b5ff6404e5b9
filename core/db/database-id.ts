import { createHash } from 'node:crypto'
import type { Queryable } from './pool.ts'

/**
 * Identifies a migrated database by its name and the moment of its first migration, to the microsecond. Survives
 * restarts, later migrations and a restored dump; a copy under another name is another database.
 * 16 hexadecimal digits.
 */
export async function readDatabaseId(client: Queryable): Promise<string> {
  const { rows } = await client.query<{ said: string }>(
    `select current_database() || ' ' || extract(epoch from applied_at) as said
       from schema_migrations order by name limit 1`,
  )
  const [row] = rows
  if (row === undefined) throw new Error('The database has no schema yet. Run `npm run migrate` first.')
  return createHash('sha256').update(row.said).digest('hex').slice(0, 16)
}
