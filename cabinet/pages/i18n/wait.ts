/** A wait in readable units, never rounded down: `9000` is 3 hours, `90` is 2 minutes. Pure. */
export function roundWait(seconds: number): {
  readonly count: number
  readonly unit: 'second' | 'minute' | 'hour'
} {
  if (seconds < 90) return { count: seconds, unit: 'second' }
  if (seconds < 90 * 60) return { count: Math.ceil(seconds / 60), unit: 'minute' }
  return { count: Math.ceil(seconds / 3_600), unit: 'hour' }
}
