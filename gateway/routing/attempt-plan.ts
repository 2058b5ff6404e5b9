import { hash } from 'node:crypto'
import { type Failure, wasSilent } from '../upstream/failure.ts'
import type { Backend, Route } from './route-table.ts'

/** A model and one of its backends: what one attempt is made at. */
export type Target = { readonly route: Route; readonly backend: Backend }

/** A model and its backends, best first. */
export type Option = { readonly route: Route; readonly backends: readonly Backend[] }

/** An attempt that came to nothing. */
export type FailedAttempt = { readonly target: Target; readonly failure: Failure }

/** What a request wants of the order of backends. */
export type Wishes = {
  /** The mark of the provider that signed its conversation. */
  readonly signedBy?: string | undefined
  /** What the requests of its session have in common (`session-affinity.ts`). */
  readonly affinity?: string | undefined
}

/**
 * The backends of a route in the order in which to try them: by priority; within one priority in a random order that
 * follows the weights, but for a first one that is busier than its weight allows: then the second one is first. Those of
 * the provider that signed the conversation come before all others.
 *
 * Requests with the same affinity get the same order from every gateway, so that they find what the provider has cached. On
 * average it follows the weights, too. A backend that has far more requests than others of its priority comes after them.
 *
 * @param random uniform in [0, 1).
 * @param inFlight requests that a backend is working on.
 */
export function orderBackends(
  backends: readonly Backend[],
  random: () => number,
  inFlight: (backend: Backend) => number,
  { signedBy, affinity }: Wishes = {},
): readonly Backend[] {
  if (backends.length < 2) return backends
  const order =
    affinity === undefined
      ? orderByLoad(backends, random, inFlight)
      : orderBySession(backends, affinity, inFlight)
  if (signedBy === undefined) return order
  const isSigner = ({ dialect }: Backend) => dialect.origin === signedBy
  return [...order.filter(isSigner), ...order.filter((backend) => !isSigner(backend))]
}

function orderByLoad(
  backends: readonly Backend[],
  random: () => number,
  inFlight: (backend: Backend) => number,
): readonly Backend[] {
  const order = orderByDraw(backends, random)
  // The better of two that were drawn: as good as looking at all of them, without sending all requests to the same one.
  const [first, second, ...rest] = order
  if (first === undefined || second === undefined || first.priority !== second.priority) return order
  return isBusier(first, second, inFlight) ? [second, first, ...rest] : order
}

/** Rendezvous hashing: a backend that comes or goes moves only its own sessions. */
function orderBySession(
  backends: readonly Backend[],
  affinity: string,
  inFlight: (backend: Backend) => number,
): readonly Backend[] {
  const order = orderByDraw(backends, (backend) => drawOf(backend, affinity))
  const isCrowded = (backend: Backend) =>
    order.some((other) => other.priority === backend.priority && isFarBusier(backend, other, inFlight))
  const crowded = new Set(order.filter(isCrowded))
  if (crowded.size === 0) return order
  return order.toSorted((a, b) => a.priority - b.priority || Number(crowded.has(a)) - Number(crowded.has(b)))
}

/** Uniform in [0, 1), and the same in every gateway. */
function drawOf({ provider, dialect }: Backend, affinity: string): number {
  return hash('sha256', `${provider.name}\n${dialect.model}\n${affinity}`, 'buffer').readUInt32BE() / 2 ** 32
}

/** @param draw uniform in [0, 1). The smallest of exponential variables with these rates is each one with probability weight ÷ sum of weights. */
function orderByDraw(backends: readonly Backend[], draw: (backend: Backend) => number): readonly Backend[] {
  return backends
    .map((backend) => ({ backend, time: -Math.log(1 - draw(backend)) / backend.weight }))
    .toSorted((a, b) => a.backend.priority - b.backend.priority || a.time - b.time)
    .map(({ backend }) => backend)
}

/** Whether `a`, for its weight, would still be busier than `b` if `b` had this request. */
function isBusier(a: Backend, b: Backend, inFlight: (backend: Backend) => number): boolean {
  return inFlight(a) * b.weight > (inFlight(b) + 1) * a.weight
}

/** Requests that a backend may have however idle the others are: a session may ask several at a time. */
const sessionRequests = 8

/** Whether `a`, for its weight, has more than twice the requests of `b`, and these. */
function isFarBusier(a: Backend, b: Backend, inFlight: (backend: Backend) => number): boolean {
  return inFlight(a) >= sessionRequests + (2 * inFlight(b) * a.weight) / b.weight
}

/**
 * Where a request that came to nothing so far may be tried next, best first: the models as given, each for as long as
 * it has attempts left; within a model the target tried less often goes first. A silent target comes after all
 * others: asked again at once it mostly takes as long. Empty: nothing else may help.
 */
export function nextTargets(options: readonly Option[], failed: readonly FailedAttempt[]): readonly Target[] {
  const targets = options.flatMap(({ route, backends }) => {
    if (attemptsLeftOf(route, failed) === 0) return []
    const own = backends.map((backend) => ({ route, backend }))
    if (failed.length === 0) return own
    return own
      .filter((target) => failed.every((attempt) => mayHelp(attempt, target)))
      .toSorted((a, b) => timesTried(a, failed) - timesTried(b, failed))
  })
  if (failed.length === 0) return targets
  return targets.toSorted((a, b) => timesSilent(a.backend, failed) - timesSilent(b.backend, failed))
}

/** Whether anything but this very backend, and those that were silent, could still be tried after it. */
export function hasOtherTarget(
  target: Target,
  options: readonly Option[],
  failed: readonly FailedAttempt[],
): boolean {
  return options.some(({ route, backends }) => {
    const attemptsLeft = attemptsLeftOf(route, failed) - (route === target.route ? 1 : 0)
    const isOther = (backend: Backend) =>
      backend !== target.backend &&
      timesSilent(backend, failed) === 0 &&
      failed.every((attempt) => mayHelp(attempt, { route, backend }))
    return attemptsLeft > 0 && backends.some(isOther)
  })
}

/** How often this very backend was tried for this model. */
export function timesTried({ backend }: Target, failed: readonly FailedAttempt[]): number {
  return failed.filter(({ target }) => target.backend === backend).length
}

function timesSilent(backend: Backend, failed: readonly FailedAttempt[]): number {
  return failed.filter(({ target, failure }) => target.backend === backend && wasSilent(failure)).length
}

function attemptsLeftOf(route: Route, failed: readonly FailedAttempt[]): number {
  const tried = failed.filter(({ target }) => target.route === route).length
  return Math.max(route.document.attempts - tried, 0)
}

/** Whether another target may succeed where one did not. */
function mayHelp({ target: failed, failure }: FailedAttempt, next: Target): boolean {
  switch (failure.recovery) {
    case 'anywhere':
      return true
    case 'other_backend':
      return next.backend !== failed.backend
    case 'larger_context':
      return contextOf(next) > contextOf(failed)
    case 'nowhere':
      return false
  }
}

function contextOf({ route }: Target): number {
  return route.document.contextLength ?? 0
}
