import type { Queryable } from '../../db/pool.ts'

/** Ends noting requests and forgets those that wait. Only the owner of the database may. A later start copies all again. */
export async function stopArchive(client: Queryable): Promise<void> {
  await client.query('select stop_archive()')
}
