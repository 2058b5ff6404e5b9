import { Client } from 'pg'
import { allShards, type Shard } from '../redis/shard.ts'

/** First halves of advisory locks, arbitrary but fixed. The second half of the settlement lock is the shard. */
const settlementLockClass = 0x6d67_0001
const loadLockClass = 0x6d67_0003

/** How often a worker proves to its session that it is alive, and how long Postgres waits for that. */
const heartbeatMs = 1_000
const sessionIdleMsMax = 5_000

/** How often a worker asks again for shards that another one holds. Bounds how long a dead worker's shards lie idle. */
const askAgainMs = 1_000
/** How long a worker asks for nothing after standing back: the others, which ask more often, come first. */
const standBackMs = 2_000

/**
 * What only this worker may do at the moment.
 *
 * Session-level advisory locks, on a connection of its own: Postgres gives them back by itself when the worker
 * dies, and 5 s after it was frozen or cut off. A worker that lost them without noticing does no harm (`post_batch` knows
 * what it has booked, `open-epoch` which load began last); the locks only keep two workers from doing the same work.
 */
export type ShardLocks = {
  /** Takes the free shards, at most once a second, and returns all that are held. @throws when Postgres is unavailable. */
  takeShards(): Promise<readonly Shard[]>
  /** Releases its shards and asks for none for 2 s: this worker cannot settle now, another may. */
  standBack(): Promise<void>
  /** Loads Redis, or does nothing while another worker is loading it. @throws when Postgres is unavailable. */
  loadAlone(load: () => Promise<void>): Promise<void>
  release(): Promise<void>
}

export function createShardLocks(databaseUrl: string, now: () => number): ShardLocks {
  let session: Promise<Client> | undefined
  let held = new Set<Shard>()
  let asksFromMs = Number.NEGATIVE_INFINITY
  // Its own timer: a pass of settlement may take longer than Postgres waits.
  const heartbeat = setInterval(
    () => session?.then((client) => client.query('select')).catch(ignore),
    heartbeatMs,
  )

  function forget(): void {
    session = undefined
    held = new Set()
    asksFromMs = Number.NEGATIVE_INFINITY
  }

  /** The session, opened if there is none. Its locks end with it. */
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

  /** Queries on the session, and ends it if that fails, because nobody knows then what it holds. */
  async function ask<Row extends object>(text: string, values: unknown[]): Promise<readonly Row[]> {
    const client = await begun()
    try {
      return (await client.query<Row>(text, values)).rows
    } catch (error) {
      forget()
      void client.end().catch(ignore) // a server that does not answer does not close the connection either
      throw error
    }
  }

  return {
    async takeShards() {
      // Only shards not held: a session can take a lock twice and would then have to release it twice.
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
      await ask(unlock, [settlementLockClass, shards]).catch(ignore) // went with the session then
    },
    async loadAlone(load) {
      const [lock] = await ask<{ taken: boolean }>('select pg_try_advisory_lock($1, 0) as taken', [
        loadLockClass,
      ])
      if (!lock?.taken) return
      try {
        await load()
      } finally {
        await ask('select pg_advisory_unlock($1, 0)', [loadLockClass]).catch(ignore) // went with the session then
      }
    },
    async release() {
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
  client.on('error', onEnd) // fires whenever the session ends, unless we end it
  await client.connect()
  await client.query(`set idle_session_timeout = ${sessionIdleMsMax}`)
  return client
}

function ignore(): void {}
