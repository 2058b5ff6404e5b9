import { Pool, type QueryResult, type QueryResultRow, types } from 'pg'

/** What can run a statement: a pool, or a client in its transaction. */
export type Queryable = {
  query<Row extends QueryResultRow>(text: string, values?: unknown[]): Promise<QueryResult<Row>>
}

export type PoolOptions = {
  readonly databaseUrl: string
  /** Seen in pg_stat_activity: which process this is. */
  readonly applicationName: string
  readonly connectionCountMax?: number
  /** 30 s unless said: longer than anything we send while serving should take. */
  readonly statementTimeoutMs?: number
}

const connectionCountMaxDefault = 10
const connectTimeoutMs = 5_000
const statementTimeoutMsDefault = 30_000
/** A process that is frozen or cut off inside a transaction must not keep accounts locked: Postgres ends it. */
const idleInTransactionMsMax = 5_000

const int8 = 20
const xid8 = 5069

/**
 * Opens a pool whose `bigint` and `xid8` columns come as BigInt, never as a rounded number or a text.
 *
 * A connection that breaks while idle is thrown away and replaced at the next use. What is committed is on disk, also
 * where the server, database or role is set not to wait for that.
 */
export function createPool(options: PoolOptions): Pool {
  const statementTimeoutMs = options.statementTimeoutMs ?? statementTimeoutMsDefault
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
  // Without a listener the process would end: on the pool for idle connections, on each for those in use. Whoever
  // asks something on a broken connection hears of it.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', () => undefined))
  return pool
}

/** What Postgres has committed leaves Redis, and is nowhere else then. Weaker promises of standbys are not ours to judge. */
async function waitForTheDisk(client: Queryable): Promise<void> {
  await client.query(
    `select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'`,
  )
}
