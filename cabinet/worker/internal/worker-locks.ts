import { Client } from 'pg'
import { allShards, type Shard } from '../../redis/shard.ts'

/** First halves of advisory locks. Any fixed numbers. The second half of the first is the shard that is settled. */
const settlementLockClass = 0x6d67_0001
const loadLockClass = 0x6d67_0003

/** How often a worker shows its session that it lives, and how long Postgres waits for that. */
const heartbeatMs = 1_000
const sessionIdleMsMax = 5_000

/** How often a worker asks again for shards that another one holds. Bounds how long a dead worker's shards rest. */
const askAgainMs = 1_000
/** How long a worker asks for nothing after it stood back: the others, who ask more often, come first. */
const standBackMs = 2_000

/**
 * What this worker alone may do now.
 *
 * Session-level advisory locks, on a connection of its own: Postgres gives them back by itself when the worker
 * dies, and 5 s after it was frozen or cut off. A worker that lost them without noticing does no harm (`post_batch` knows
 * what it has booked, `open-epoch` which load began last); the locks only keep two workers from doing the same work.
 */
export type WorkerLocks = {
  /** Takes the shards to settle that are free, at most once a second, and answers all held. @throws when Postgres is away. */
  takeShards(): Promise<readonly Shard[]>
  /** Gives its shards to whoever asks, and asks for none itself for 2 s: it cannot settle now, another one may. */
  standBack(): Promise<void>
  /** Runs a load of Redis, unless another worker runs one now: then nothing happens. @throws when Postgres is away. */
  loadAlone(load: () => Promise<void>): Promise<void>
  release(): Promise<void>
}

export function createWorkerLocks(databaseUrl: string, now: () => number): WorkerLocks {
  let session: Promise<Client> | undefined
  let held = new Set<Shard>()
  let asksFromMs = Number.NEGATIVE_INFINITY
  // A timer of its own: a pass of settlement may take longer than Postgres waits.
  const heartbeat = setInterval(
    () => session?.then((client) => client.query('select')).catch(ignore),
    heartbeatMs,
  )

  function forget(): void {
    session = undefined
    held = new Set()
    asksFromMs = Number.NEGATIVE_INFINITY
  }

  /** The session, begun where there is none. Its locks end with it. */
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

  /** Asks on the session, and ends it when that fails: nobody knows then what it holds. */
  async function ask<Row extends object>(text: string, values: unknown[]): Promise<readonly Row[]> {
    const client = await begun()
    try {
      return (await client.query<Row>(text, values)).rows
    } catch (error) {
      forget()
      void client.end().catch(ignore) // a server that does not answer does not hang up either
      throw error
    }
  }

  return {
    async takeShards() {
      // Only those not held: a session may take a lock twice and would then owe two releases.
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
  client.on('error', onEnd) // heard at every end but one of our own
  await client.connect()
  await client.query(`set idle_session_timeout = ${sessionIdleMsMax}`)
  return client
}

function ignore(): void {}
