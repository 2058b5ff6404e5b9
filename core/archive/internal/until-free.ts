import { setTimeout as pause } from 'node:timers/promises'
import { DatabaseError } from 'pg'

/** How often a removal is tried while transactions read the table: each attempt waits 200 ms for them. */
const attemptsMaxDefault = 20
const attemptPauseMs = 1_000
const lockNotAvailable = '55P03'

/** Whether the work was done in one of the attempts; `false`: a lock was not available in any. */
export async function untilFree(
  work: () => Promise<void>,
  {
    attemptsMax = attemptsMaxDefault,
    stopping,
  }: { readonly attemptsMax?: number | undefined; readonly stopping?: AbortSignal },
): Promise<boolean> {
  for (let attempt = 1; ; attempt++)
    try {
      await work()
      return true
    } catch (error) {
      if (!(error instanceof DatabaseError && error.code === lockNotAvailable)) throw error
      if (attempt >= attemptsMax) return false
      await pause(attemptPauseMs, undefined, stopping === undefined ? {} : { signal: stopping })
    }
}
