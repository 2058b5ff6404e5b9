/** Largest number of models to visit. No one would recognize a longer cycle as a mistake. */
const visitedMax = 64
/** Cycles that are named together: one is enough to find the mistake. */
const circlesMax = 10

/** The shortest loop that the fallbacks of a model form, starting and ending with it; `undefined`: no short one. Pure. */
export function findFallbackCircle(
  model: string,
  fallbacksOf: (model: string) => readonly string[],
): readonly string[] | undefined {
  const cameFrom = new Map<string, string>()
  const waiting = [model]
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
    for (const fallback of fallbacksOf(next)) {
      if (fallback === model) return [...wayTo(next, model, cameFrom), model]
      if (cameFrom.has(fallback) || cameFrom.size >= visitedMax) continue
      cameFrom.set(fallback, next)
      waiting.push(fallback)
    }
  return undefined
}

/** The cycles that fallbacks make, each once, from a model to itself: only short ones, at most 10. Pure. */
export function findFallbackCircles(
  fallbacks: ReadonlyMap<string, readonly string[]>,
): readonly (readonly string[])[] {
  const circles: (readonly string[])[] = []
  const named = new Set<string>()
  for (const model of fallbacks.keys()) {
    if (circles.length === circlesMax) break
    if (named.has(model)) continue
    const circle = findFallbackCircle(model, (each) => fallbacks.get(each) ?? []) ?? []
    if (circle.length > 0) circles.push(circle)
    for (const each of circle) named.add(each)
  }
  return circles
}

function wayTo(end: string, start: string, cameFrom: ReadonlyMap<string, string>): readonly string[] {
  const way = [end]
  for (let at = cameFrom.get(end); at !== undefined; at = cameFrom.get(at)) way.unshift(at)
  return way[0] === start ? way : [start, ...way]
}
