import { setTimeout as pause } from 'node:timers/promises'
import { errorName } from '../process/error-name.ts'
import type { Log } from '../process/log.ts'
import { isUnavailability } from './availability.ts'
import { findMissingMigration } from './internal/missing-migration.ts'
import type { Queryable } from './pool.ts'

/** Whether the database has every migration that this program was built for. */
export type DatabaseWatch = {
  /** Resolves once it was seen to have them; never rejects. */
  readonly isFit: Promise<void>
  /**
   * Why this process must get no work: which migration it waits for, or that Postgres has not answered since the start.
   * Later outages are no reason.
   */
  notReady(): string | undefined
  /** Looks no more, and lets a look under way end. */
  stop(): Promise<void>
}

const unasked = 'Postgres has not returned its list of migrations yet'
const lookAgainMs = 2_000

/**
 * Checks until the database is as new as this program. A newer one is fine: migrations leave room for the
 * release before them. Each reason is logged once.
 *
 * @param mustHold a further check of a migrated database. If it throws, the process is not ready, with that
 * message.
 */
export function watchDatabase(
  client: Queryable,
  log: Pick<Log, 'info' | 'warn'>,
  mustHold: () => Promise<void> = async () => undefined,
): DatabaseWatch {
  const stopping = new AbortController()
  const { promise: isFit, resolve: fits } = Promise.withResolvers<void>()
  let reason: string | undefined = unasked

  function conclude(found: string | undefined): void {
    if (found === reason) return
    if (found !== undefined) log.warn({ reason: found }, 'not ready')
    else if (reason !== unasked) log.info({}, 'the database has every migration that this version needs')
    reason = found
  }

  async function look(): Promise<void> {
    try {
      const missing = await findMissingMigration(client)
      if (missing !== undefined) return conclude(`waiting for migration ${missing}`)
      await mustHold()
      conclude(undefined)
    } catch (error) {
      const { message } = error instanceof Error ? error : new Error(String(error))
      conclude(isUnavailability(error) ? `${unasked}: ${message || errorName(error)}` : message)
    }
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await look()
      if (reason === undefined) return fits()
      await pause(lookAgainMs, undefined, { signal: stopping.signal }).catch(() => undefined) // stopped, not failed
    }
  }

  const ended = run()
  return {
    isFit,
    notReady: () => reason,
    stop() {
      stopping.abort()
      return ended
    },
  }
}
