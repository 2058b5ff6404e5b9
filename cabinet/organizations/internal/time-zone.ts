const namePattern = /^[A-Z][A-Za-z_]*(?:\/[A-Z][A-Za-z0-9_+-]*)*$/
const nameLengthMax = 64
const dayMs = 86_400_000
const dayCount = 366

/**
 * Whether this is an IANA time zone whose UTC offset is a whole number of hours on every day of the year from `fromMs`
 * on. Usage is kept by the hour, and days of another zone would cut hours in two. Pure.
 */
export function isWholeHourZone(name: string, fromMs: number): boolean {
  if (name.length > nameLengthMax || !namePattern.test(name)) return false
  const offset = findOffset(name)
  return (
    offset !== undefined && Array.from({ length: dayCount }, (_, day) => fromMs + day * dayMs).every(offset)
  )
}

/** Checks whether the zone's offset is whole hours at an instant. `undefined`: the zone does not exist. */
function findOffset(timeZone: string): ((atMs: number) => boolean) | undefined {
  try {
    const format = new Intl.DateTimeFormat('en', { timeZone, minute: '2-digit', second: '2-digit' })
    return (atMs) => format.format(wholeHour(atMs)) === '00:00'
  } catch {
    return undefined
  }
}

function wholeHour(atMs: number): number {
  return atMs - (atMs % 3_600_000)
}
