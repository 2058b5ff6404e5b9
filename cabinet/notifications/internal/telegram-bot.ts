import type { Queryable } from '#core/db/pool'
import type { Bot } from './telegram-api.ts'

/** What a poller needs to read updates. */
export type Polling = {
  readonly nextUpdateId: bigint
  /** Telegram failed, or asked to wait. */
  readonly isPaused: boolean
}

/**
 * Makes this worker the only one that reads updates, for `leaseMs`; `undefined`: another one is. Telegram chooses new numbers after a
 * week without any, so an old number is not used: updates before it were confirmed by then.
 */
export async function takePolling(
  client: Queryable,
  poller: string,
  leaseMs: number,
): Promise<Polling | undefined> {
  const { rows } = await client.query<Polling>(
    `update telegram_bot set poller = $1, polled_until = clock_timestamp() + $2 * interval '1 ms'
      where poller = $1 or polled_until <= clock_timestamp()
     returning case when last_update_at > clock_timestamp() - interval '6 days' then next_update_id else 0 end as "nextUpdateId",
               paused_until > clock_timestamp() as "isPaused"`,
    [poller, leaseMs],
  )
  return rows[0]
}

/** Lets another worker read updates at once. */
export async function releasePolling(client: Queryable, poller: string): Promise<void> {
  await client.query('update telegram_bot set polled_until = clock_timestamp() where poller = $1', [poller])
}

/** Notes which bot the token belongs to; another one has other updates. */
export async function noteBot(client: Queryable, { id, username }: Bot): Promise<void> {
  await client.query(
    `update telegram_bot set bot_id = $1, username = $2,
            last_update_at = case when bot_id = $1 then last_update_at end
      where (bot_id, username) is distinct from ($1, $2)`,
    [id, username],
  )
}

/** The next poll begins after this update. */
export async function noteProcessed(client: Queryable, updateId: number): Promise<void> {
  await client.query('update telegram_bot set next_update_id = $1 + 1, last_update_at = clock_timestamp()', [
    updateId,
  ])
}

/** All calls of all workers wait; longer with each failure in a row, of which it returns the number. */
export async function noteFailure(client: Queryable, pauseMs: (failures: number) => number): Promise<number> {
  const { rows } = await client.query<{ failures: number }>(
    'update telegram_bot set failures = failures + 1 returning failures',
  )
  const failures = rows[0]?.failures ?? 1
  await pauseFor(client, pauseMs(failures))
  return failures
}

/** All calls of all workers wait. */
export async function pauseFor(client: Queryable, ms: number): Promise<void> {
  await client.query(
    `update telegram_bot set paused_until = greatest(paused_until, clock_timestamp() + $1 * interval '1 ms')`,
    [ms],
  )
}

export async function noteWorking(client: Queryable): Promise<void> {
  await client.query('update telegram_bot set failures = 0 where failures > 0')
}
