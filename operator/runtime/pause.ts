import { setTimeout as sleep } from 'node:timers/promises'

/**
 * How long to wait before the next attempt: twice as long each time, from `minMs` to `maxMs`. `lastMs` 0: no failure
 * yet.
 */
export function nextPauseMs(
  lastMs: number,
  { minMs, maxMs }: { readonly minMs: number; readonly maxMs: number },
): number {
  return Math.min(Math.max(lastMs * 2, minMs), maxMs)
}

/** Spreads a wait over ±50 %, so that clients that failed together do not retry together. `random` is from 0 to 1. */
export function spreadMs(ms: number, random: number): number {
  return ms * (0.5 + random)
}

/** Waits until the time is over or the signal aborts. Never throws. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined)
}
