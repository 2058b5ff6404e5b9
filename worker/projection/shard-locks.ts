import { Client } from 'pg'
import { allShards, type Shard } from '#core/redis/shard'

/** First halves of advisory locks, arbitrary but fixed. The second half of the settlement lock is the shard. */
const settlementLockClass = 0x6d67_0001
const loadLockClass = 0x6d67_0003

/** How often a worker sends a heartbeat on its session, and how long Postgres waits for one. */
const heartbeatMs = 1_000
const sessionIdleMsMax = 5_000

/** How often a worker retries to take shards of other workers. Bounds how long a dead worker's shards are idle. */
const askAgainMs = 1_000
/** Pause of a worker after standing back, so that other workers, which retry more often, come first. */
const standBackMs = 2_000

/**
 * Work that only this worker may do now.
 *
 * Session-level advisory locks on a separate connection. Postgres releases them when the worker dies, and 5 s after it
 * freezes or is disconnected. A worker that lost its locks without noticing does no harm: `post_batch` knows what it
 * has posted, and `open-epoch` knows which load began last. The locks only prevent duplicate work.
 */
export type ShardLocks = {
  /**
   * Takes the free shards, at most once a second, and returns all held shards.
   * @throws when Postgres is unavailable.
   */
  takeShards(): Promise<readonly Shard[]>
  /** Releases its shards and takes none for 2 s, because this worker cannot settle now and another may. */
  standBack(): Promise<void>
  /**
   * Loads Redis, or does nothing while another worker loads it.
   * @throws when Postgres is unavailable.
   */
  loadAlone(load: () => Promise<void>): Promise<void>
  release(): Promise<void>
}

export function createShardLocks(databaseUrl: string, now: () => number): ShardLocks {
  let held = new Set<Shard>()
  let asksFromMs = Number.NEGATIVE_INFINITY
  const { ask, end } = createLockSession(databaseUrl, () => {
    held = new Set()
    asksFromMs = Number.NEGATIVE_INFINITY
  })

  return {
    async takeShards() {
      // Only shards not held: a session can take a lock twice, and must then release it twice.
      const free = allShards.filter((shard) => !held.has(shard))
      if (free.length === 0 || now() < asksFromMs) return [...held]
      asksFromMs = now() + askAgainMs
      const shards = await ask<{ shard: Shard; taken: boolean }>(
        'select shard, pg_try_advisory_lock($1, shard) as taken from unnest($2::int[]) as shard',
        [settlementLockClass, free],
      )
      for (const { shard, taken } of shards) if (taken) held.add(shard)
      return [...held]
    },
    async standBack() {
      const shards = [...held]
      held.clear()
      asksFromMs = now() + standBackMs
      if (shards.length === 0) return
      const unlock = 'select pg_advisory_unlock($1, shard) from unnest($2::int[]) as shard'
      await ask(unlock, [settlementLockClass, shards]).catch(ignore) // released with the session in that case
    },
    async loadAlone(load) {
      const [lock] = await ask<{ taken: boolean }>('select pg_try_advisory_lock($1, 0) as taken', [
        loadLockClass,
      ])
      if (!lock?.taken) return
      try {
        await load()
      } finally {
        await ask('select pg_advisory_unlock($1, 0)', [loadLockClass]).catch(ignore) // released with the session in that case
      }
    },
    release: end,
  }
}

/** A Postgres session, opened on first use. Its locks end with it; then `onLost` is called. */
function createLockSession(databaseUrl: string, onLost: () => void) {
  let session: Promise<Client> | undefined
  // A separate timer, because a settlement pass may take longer than Postgres waits.
  const heartbeat = setInterval(
    () => session?.then((client) => client.query('select')).catch(ignore),
    heartbeatMs,
  )

  function forget(): void {
    session = undefined
    onLost()
  }

  function begun(): Promise<Client> {
    if (session !== undefined) return session
    const forgetThis = () => {
      if (session === beginning) forget()
    }
    const beginning = connect(databaseUrl, forgetThis)
    session = beginning
    beginning.catch(forgetThis)
    return beginning
  }

  return {
    /** Runs a query on the session. Ends the session if the query fails, because the held locks are unknown then. */
    async ask<Row extends object>(text: string, values: unknown[]): Promise<readonly Row[]> {
      const client = await begun()
      try {
        return (await client.query<Row>(text, values)).rows
      } catch (error) {
        forget()
        void client.end().catch(ignore) // an unresponsive server does not close the connection either
        throw error
      }
    },
    async end(): Promise<void> {
      clearInterval(heartbeat)
      await session?.then((client) => client.end()).catch(ignore)
      forget()
    },
  }
}

async function connect(databaseUrl: string, onEnd: () => void): Promise<Client> {
  const client = new Client({
    connectionString: databaseUrl,
    application_name: 'model-gateway-worker-locks',
    connectionTimeoutMillis: 5_000,
    query_timeout: 5_000,
    keepAlive: true,
  })
  client.on('error', onEnd) // also called when the session ends, unless we end it
  await client.connect()
  await client.query(`set idle_session_timeout = ${sessionIdleMsMax}`)
  return client
}

function ignore(): void {}
