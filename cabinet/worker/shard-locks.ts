import { Client } from 'pg'
import { allShards, type Shard } from '../shards/shard.ts'

/** First half of the advisory locks that say who settles a shard; the second half is the shard. Any fixed number. */
const settlementLockClass = 0x6d67_0001

/** How often a worker shows its session that it lives, and how long Postgres waits for that. */
const heartbeatMs = 1_000
const sessionIdleMsMax = 5_000

/** How often a worker asks again for shards that another one holds. Bounds how long a dead worker's shards rest. */
const askAgainMs = 1_000

/**
 * The shards that this worker alone may settle now.
 *
 * A session-level advisory lock each, on a connection of its own: Postgres gives the locks back by itself when
 * the worker dies, and 5 s after it was frozen or cut off. A worker that lost them without noticing does no harm (`post_batch` knows what it has booked);
 * the locks only keep two workers from doing the same work.
 */
export type ShardLocks = {
  /** Takes what is free, at most once a second, and answers everything held. @throws when Postgres is away. */
  take(): Promise<readonly Shard[]>
  release(): Promise<void>
}

export function createShardLocks(databaseUrl: string, now: () => number): ShardLocks {
  let session: Client | undefined
  let held = new Set<Shard>()
  let askedAtMs = Number.NEGATIVE_INFINITY
  // A timer of its own: a pass of settlement may take longer than Postgres waits.
  const heartbeat = setInterval(() => session?.query('select').catch(() => undefined), heartbeatMs)

  function forget(): void {
    session = undefined
    held = new Set()
    askedAtMs = Number.NEGATIVE_INFINITY
  }

  async function connect(): Promise<Client> {
    const client = new Client({
      connectionString: databaseUrl,
      application_name: 'model-gateway-settlement-locks',
      connectionTimeoutMillis: 5_000,
      query_timeout: 5_000,
      keepAlive: true,
    })
    client.on('error', forget)
    client.on('end', forget)
    await client.connect()
    await client.query(`set idle_session_timeout = ${sessionIdleMsMax}`)
    session = client
    return client
  }

  return {
    async take() {
      const client = session ?? (await connect())
      // Only those not held: a session may take a lock twice and would then owe two releases.
      const free = allShards.filter((shard) => !held.has(shard))
      if (free.length === 0 || now() - askedAtMs < askAgainMs) return [...held]
      askedAtMs = now()
      try {
        const { rows } = await client.query<{ shard: Shard; taken: boolean }>(
          'select shard, pg_try_advisory_lock($1, shard) as taken from unnest($2::int[]) as shard',
          [settlementLockClass, free],
        )
        for (const { shard, taken } of rows) if (taken) held.add(shard)
        return [...held]
      } catch (error) {
        forget()
        void client.end().catch(() => undefined) // a server that does not answer does not hang up either
        throw error
      }
    },
    async release() {
      clearInterval(heartbeat)
      await session?.end().catch(() => undefined)
      forget()
    },
  }
}
