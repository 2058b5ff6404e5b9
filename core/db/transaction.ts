import { setTimeout as pause } from 'node:timers/promises'
import { DatabaseError, type Pool, type PoolClient } from 'pg'

/** Attempts of one transaction; after that the database has a problem that the caller should handle. */
const attemptCountMax = 5
const pauseMs = 10

/** SQLSTATEs that mean: nothing happened, a retry may work (serialization failure, deadlock). */
const transient = new Set(['40001', '40P01'])

export type TransactionOptions = {
  /** Default `read committed`. */
  readonly isolation?: 'read committed' | 'repeatable read'
  /** It writes nothing; Postgres sees to that. */
  readonly readOnly?: true
  /** Longest wait for one lock; then SQLSTATE 55P03 is thrown. Default: as long as a statement may take. */
  readonly lockTimeoutMs?: number
  /** Ends the transaction wherever it is, its running statement included; then it throws. */
  readonly signal?: AbortSignal
}

/**
 * Runs `work` in one transaction and returns its result once committed; rolls back if it throws.
 *
 * After a deadlock or serialization failure `work` runs again, at most 5 times in all: it must do nothing that a
 * rollback does not undo.
 */
export async function inTransaction<Answer>(
  pool: Pool,
  work: (client: PoolClient) => Promise<Answer>,
  options: TransactionOptions = {},
): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await runOnce(pool, work, options)
    } catch (error) {
      const isTransient = error instanceof DatabaseError && transient.has(error.code ?? '')
      if (!isTransient || attempt === attemptCountMax) throw error
      await pause(pauseMs * attempt * (1 + Math.random()))
    }
  }
}

async function runOnce<Answer>(
  pool: Pool,
  work: (client: PoolClient) => Promise<Answer>,
  { isolation = 'read committed', readOnly, lockTimeoutMs, signal }: TransactionOptions,
): Promise<Answer> {
  signal?.throwIfAborted()
  const client = await pool.connect()
  let broken: Error | undefined
  const end = () => endSession(pool, client)
  signal?.addEventListener('abort', end)
  try {
    const lockTimeout = lockTimeoutMs === undefined ? '' : `; set local lock_timeout = ${lockTimeoutMs}`
    const mode = readOnly === true ? ', read only' : ''
    await client.query(`begin isolation level ${isolation}${mode}${lockTimeout}`)
    const answer = await work(client)
    await client.query('commit')
    return answer
  } catch (error) {
    await client.query('rollback').catch((rollbackError: Error) => {
      broken = rollbackError // the connection is lost, and with it the transaction
    })
    throw error
  } finally {
    signal?.removeEventListener('abort', end)
    client.release(broken)
  }
}

/** Between two statements there would be nothing to cancel, and the next one would run: the whole session ends. */
function endSession(pool: Pool, client: PoolClient): void {
  const { processID } = client as PoolClient & { readonly processID: number }
  pool.query('select pg_terminate_backend($1)', [processID]).catch(() => undefined)
}
