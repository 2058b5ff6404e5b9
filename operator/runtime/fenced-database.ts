import type { Pool, PoolClient } from 'pg'
import { type Fence, inFencedTransaction, Superseded } from '#cabinet/clusters/cluster-epoch'
import { orUnavailable } from '#cabinet/db/availability'

/** Where an operator writes, and the fence that allows it. */
export type FencedDatabase = { readonly pool: Pool; readonly fence: () => Fence }

/**
 * Runs a transaction that only commits while this operator leads.
 *
 * @throws PostgresUnavailable, or Superseded.
 */
export async function writeFenced<Answer>(
  { pool, fence }: FencedDatabase,
  work: (client: PoolClient) => Promise<Answer>,
): Promise<Answer> {
  let superseded: Superseded | undefined
  const written = inFencedTransaction(pool, fence(), work).catch((error: unknown) => {
    if (error instanceof Superseded) superseded = error
    throw error
  })
  try {
    return await orUnavailable(written)
  } catch (error) {
    throw superseded ?? error
  }
}
