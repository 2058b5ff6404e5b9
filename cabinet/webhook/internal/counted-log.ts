/** Anybody may cause what is counted: it is logged no more often than this. */
const everyMs = 60_000

/**
 * Counts what happens, by its name, and has it written: the first at once, what follows once a minute. Nothing is left
 * unwritten for longer, whether or not more follows.
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
