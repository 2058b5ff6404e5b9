import { setTimeout as sleep } from 'node:timers/promises'

/** How long to wait before the next try: twice as long each time, from `minMs` to `maxMs`. 0: there was no failure yet. */
export function nextPauseMs(
  lastMs: number,
  { minMs, maxMs }: { readonly minMs: number; readonly maxMs: number },
): number {
  return Math.min(Math.max(lastMs * 2, minMs), maxMs)
}

/** Spreads a wait over ±50 %, so that what broke at once does not come back at once. `random` is from 0 to 1. */
export function spreadMs(ms: number, random: number): number {
  return ms * (0.5 + random)
}

/** Waits, or less long when the signal says so; never throws. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined)
}
