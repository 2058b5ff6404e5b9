import type { Queryable } from './pool.ts'

/** Rows of each table stamped in one transaction: some tens of milliseconds. */
const rowsPerTransactionMax = 1_000

/**
 * Stamps changes that came with a restored dump and lie ahead of this server's transaction ids, so that cursors pass
 * them. No row gets a new version by it; where there is no such row it costs three looks at an index.
 *
 * Rows that somebody else holds at this moment are left for the next time.
 *
 * @param client not in a transaction: each batch is one.
 */
export async function restampChanges(client: Queryable): Promise<void> {
  const restampSome = async () => {
    const { rows } = await client.query<{ count: bigint }>('select restamp_changes($1) as count', [
      rowsPerTransactionMax,
    ])
    return rows[0]?.count ?? 0n
  }
  while ((await restampSome()) > 0n);
}
