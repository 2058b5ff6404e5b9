/** Any client can cause the counted events, so they are logged at most this often. */
const everyMs = 60_000

/**
 * Counts events by name and logs the counts: the first event immediately, later ones once a minute. No event stays
 * unlogged for longer.
 */
export function createCountedLog<Name extends string>(
  write: (counts: Readonly<Record<string, number>>) => void,
): (name: Name) => void {
  const counts = new Map<Name, number>()
  let isResting = false

  function tell(): void {
    isResting = counts.size > 0
    if (!isResting) return
    write(Object.fromEntries(counts))
    counts.clear()
    setTimeout(tell, everyMs).unref()
  }

  return (name) => {
    counts.set(name, (counts.get(name) ?? 0) + 1)
    if (!isResting) tell()
  }
}
