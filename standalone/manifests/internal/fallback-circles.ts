/** Circles that are reported; one is enough to find the mistake. */
const circlesMax = 10

/** Models whose fallbacks lead back to themselves, each circle once. Linear. */
export function findFallbackCircles(
  fallbacks: ReadonlyMap<string, readonly string[]>,
): readonly (readonly string[])[] {
  const remaining = withoutDeadEnds(fallbacks)
  const circles: string[][] = []
  const seen = new Set<string>()
  for (const start of remaining) {
    const path: string[] = []
    let model: string | undefined = start
    while (model !== undefined && !seen.has(model)) {
      seen.add(model)
      path.push(model)
      model = fallbacks.get(model)?.find((fallback) => remaining.has(fallback))
    }
    const begin = model === undefined ? -1 : path.indexOf(model)
    if (begin >= 0) circles.push(path.slice(begin))
    if (circles.length === circlesMax) break
  }
  return circles
}

/** The models from which a circle can be reached: those are left when dead ends are taken away again and again. */
function withoutDeadEnds(fallbacks: ReadonlyMap<string, readonly string[]>): ReadonlySet<string> {
  const callers = new Map<string, string[]>()
  const waysOut = new Map<string, number>()
  for (const [model, targets] of fallbacks) {
    const known = [...new Set(targets)].filter((target) => fallbacks.has(target))
    waysOut.set(model, known.length)
    for (const target of known) {
      const others = callers.get(target)
      if (others === undefined) callers.set(target, [model])
      else others.push(model)
    }
  }
  const remaining = new Set(fallbacks.keys())
  const deadEnds = [...waysOut].filter(([, count]) => count === 0).map(([model]) => model)
  for (let model = deadEnds.pop(); model !== undefined; model = deadEnds.pop()) {
    remaining.delete(model)
    for (const caller of callers.get(model) ?? []) {
      const left = (waysOut.get(caller) ?? 0) - 1
      waysOut.set(caller, left)
      if (left === 0) deadEnds.push(caller)
    }
  }
  return remaining
}
