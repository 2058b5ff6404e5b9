/**
 * Repairs of one Secret within an hour. Each leaves the API key before it alive for its grace period, so whatever
 * deletes or changes the Secret again and again must not go on forever.
 */
export const repairsMax = 5
const spanMs = 3_600_000

/** When the next repair may be made after the last ones, oldest first. 0: now. Pure. */
export function nextRepairAtMs(repairedAtMs: readonly number[], nowMs: number): number {
  const [first] = repairedAtMs.slice(-repairsMax)
  if (first === undefined || repairedAtMs.length < repairsMax || first + spanMs <= nowMs) return 0
  return first + spanMs
}
