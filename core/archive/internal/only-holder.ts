import type { Pool, PoolClient } from 'pg'

/**
 * Does `work` on one connection that holds an advisory lock, in no transaction; `undefined`: another process holds it.
 *
 * @param idleMsMax Postgres ends a session that is silent for so long, because its process is frozen or cut off.
 */
export async function asOnlyHolder<Answer>(
  pool: Pool,
  { lock, idleMsMax }: { readonly lock: number; readonly idleMsMax: number },
  work: (client: PoolClient) => Promise<Answer>,
): Promise<Answer | undefined> {
  const client = await pool.connect()
  let isBroken = true
  try {
    const { rows } = await client.query<{ isMine: boolean }>('select pg_try_advisory_lock($1) as "isMine"', [
      lock,
    ])
    if (rows[0]?.isMine !== true) {
      isBroken = false
      return undefined
    }
    try {
      await client.query(`set idle_session_timeout = ${idleMsMax}`)
      return await work(client)
    } finally {
      await client.query('reset idle_session_timeout')
      await client.query('select pg_advisory_unlock($1)', [lock])
      isBroken = false
    }
  } finally {
    client.release(isBroken) // closing the connection releases the lock too
  }
}
