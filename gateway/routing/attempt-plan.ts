import type { Backend, Route } from './route-table.ts'

/** One place where a request may be tried. */
export type Target = { readonly route: Route; readonly backend: Backend }

/**
 * Where a request is tried, in order: the models as given; within a model its backends by priority, and within one
 * priority in a random order that follows the weights. A model with fewer backends than attempts starts over.
 *
 * @param random uniform in [0, 1).
 */
export function planAttempts(routes: readonly Route[], random: () => number): readonly Target[] {
  return routes.flatMap((route) => {
    const order = inOrder(route.backends, random)
    const count = order.length === 0 ? 0 : route.document.attempts
    return Array.from({ length: count }, (_, n) => order[n % order.length])
      .filter((backend) => backend !== undefined)
      .map((backend) => ({ route, backend }))
  })
}

function inOrder(backends: readonly Backend[], random: () => number): readonly Backend[] {
  if (backends.length < 2) return backends
  // The smallest of exponential variables with these rates is each one with probability weight ÷ sum of weights.
  const drawn = backends.map((backend) => ({
    backend,
    draw: backend.weight === 0 ? Number.POSITIVE_INFINITY : -Math.log(1 - random()) / backend.weight,
  }))
  return drawn
    .toSorted((a, b) => a.backend.priority - b.backend.priority || compare(a.draw, b.draw))
    .map(({ backend }) => backend)
}

function compare(a: number, b: number): number {
  return a === b ? 0 : a < b ? -1 : 1 // two infinities have no difference
}
