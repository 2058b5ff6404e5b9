import type { Pool } from 'pg'
import { inSnapshot } from '../db/snapshot.ts'

/**
 * The keys that changed since a cursor, themselves or one of their secrets, and the next cursor; 0: all keys.
 *
 * Nothing is missed; a key may come again though nothing more has changed.
 */
export async function readChangedKeyIds(
  pool: Pool,
  sinceXid: bigint,
): Promise<{ readonly keyIds: readonly string[]; readonly nextXid: bigint }> {
  const { answer: keyIds, nextXid } = await inSnapshot(pool, async (client) => {
    const { rows } = await client.query<{ id: string }>(
      `select id from api_keys where changed_xid >= $1::text::xid8
       union select key_id from api_key_credentials where changed_xid >= $1::text::xid8`,
      [sinceXid],
    )
    return rows.map(({ id }) => id)
  })
  return { keyIds, nextXid }
}
