import type { Pool, PoolClient } from 'pg'
import { inTransaction } from './transaction.ts'

/** The rows that were read in one snapshot, and where the next reading starts. */
export type InSnapshot<Answer> = {
  readonly answer: Answer
  /** Nothing committed later can have a smaller transaction id. */
  readonly nextXid: bigint
}

/**
 * Reads in one snapshot. With `changed_xid >= cursor` nothing is missed, in whatever order transactions commit: the
 * next cursor is the oldest transaction that was still running in the snapshot that was read. Rows may therefore come
 * twice.
 */
export function inSnapshot<Answer>(
  pool: Pool,
  read: (client: PoolClient) => Promise<Answer>,
): Promise<InSnapshot<Answer>> {
  return inTransaction(
    pool,
    async (client) => {
      const { rows } = await client.query<{ next: bigint }>(
        'select pg_snapshot_xmin(pg_current_snapshot()) as next',
      )
      const [snapshot] = rows
      if (snapshot === undefined) throw new Error('Postgres returned no snapshot')
      return { answer: await read(client), nextXid: snapshot.next }
    },
    { isolation: 'repeatable read' },
  )
}
