import { Pool, type QueryResult, type QueryResultRow, types } from 'pg'

/** A pool, or a client in its transaction: both can run a statement. */
export type Queryable = {
  query<Row extends QueryResultRow>(text: string, values?: unknown[]): Promise<QueryResult<Row>>
}

export type PoolOptions = {
  readonly databaseUrl: string
  /** Seen in pg_stat_activity: which process this is. */
  readonly applicationName: string
  readonly connectionCountMax?: number
  /** Longest wait for a connection, new or free. Default 5 s. */
  readonly connectTimeoutMs?: number
  /** Default 30 s: longer than any statement sent while serving should take. */
  readonly statementTimeoutMs?: number
}

const connectionCountMaxDefault = 10
const connectTimeoutMsDefault = 5_000
const statementTimeoutMsDefault = 30_000
/** A process frozen or cut off inside a transaction must not keep accounts locked: Postgres ends the session. */
const idleInTransactionMsMax = 5_000

const int8 = 20
const xid8 = 5069

/**
 * Opens a pool whose `bigint` and `xid8` columns come as BigInt, never as a rounded number or as text.
 *
 * A connection that breaks while idle is dropped and replaced on the next use. Commits are on disk, even if the server,
 * database or role is configured not to wait for that.
 */
export function createPool(options: PoolOptions): Pool {
  const { connectTimeoutMs = connectTimeoutMsDefault, statementTimeoutMs = statementTimeoutMsDefault } =
    options
  const pool = new Pool({
    connectionString: options.databaseUrl,
    application_name: options.applicationName,
    max: options.connectionCountMax ?? connectionCountMaxDefault,
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: idleInTransactionMsMax,
    query_timeout: statementTimeoutMs + connectTimeoutMs, // a server that no longer answers at all
    keepAlive: true,
    onConnect: waitForTheDisk,
    types: {
      getTypeParser: (oid: number, format?: 'text' | 'binary') =>
        (oid === int8 || oid === xid8) && format !== 'binary' ? BigInt : types.getTypeParser(oid, format),
    },
  })
  // Without a listener the process would end: on the pool for idle connections, on each client for those in use. A query
  // on a broken connection fails anyway.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', () => undefined))
  return pool
}

/**
 * Once Postgres has committed a charge it leaves Redis, and no other copy exists. Weaker settings for
 * standbys stay unchanged.
 */
async function waitForTheDisk(client: Queryable): Promise<void> {
  await client.query(
    `select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'`,
  )
}
