import { setTimeout as pause } from 'node:timers/promises'

/**
 * Time for a process without clients to stop. What still hangs then is left to the end of the process: every such
 * process may be killed at any point, and 10 s are what people and clusters grant.
 */
export const stopMsMax = 9_000

/** Waits for the work, but no longer. */
export async function within(ms: number, work: Promise<unknown>): Promise<void> {
  const done = new AbortController()
  const limit = pause(ms, undefined, { signal: done.signal }).catch(() => undefined)
  await Promise.race([work, limit]).finally(() => done.abort())
}
