import type { Refusal } from '#core/errors/refusal'
import { costBound, estimateCost, type RequestSize } from '../routing/hold-estimate.ts'
import { familiesOf, promptTokensMax } from '../routing/prompt-bound.ts'
import type { Route } from '../routing/route-table.ts'
import type { MeasurablePrompt } from '../tokens/measurable-prompt.ts'
import type { ModelFamily } from '../tokens/model-families.ts'
import { findOutputLimit, outputLimitField } from '../upstream/chat-request.ts'
import { costUnbounded, exceedsMaxCost, promptUnbounded } from '../wire/errors.ts'
import type { JsonObject } from '../wire/json-fields.ts'
import type { Candidates, Exchange, RouteCandidate } from './exchange.ts'

/** The facts that decide which routes may serve a request, and at what cost. */
type Asking = Pick<Exchange, 'choices' | 'content' | 'estimatePrompt'> & {
  readonly request: JsonObject
  /** Of one answer, where the request names a limit. */
  readonly outputTokensMax: number | undefined
  /** Of one answer, where the request names none but allows no more than this. */
  readonly outputTokensCap?: number | undefined
  /** The caller's own cap. */
  readonly maxCostNano: bigint | null
  /** The one asked for, then its fallbacks. */
  readonly routes: readonly [Route, ...Route[]]
}

/**
 * The prompt tokens by each family, `null` if it gives no bound; `undefined` if there was no time to measure.
 */
export type MeasurePrompt = (
  prompt: MeasurablePrompt,
  families: readonly ModelFamily[],
) => Promise<readonly (number | null)[] | undefined>

/**
 * The routes that may serve a request when its prompt has at most `promptMaxOn` tokens on each. A rejection where the one
 * asked for may not; fallbacks that may not are left out.
 */
export function candidatesOf(
  asking: Asking,
  promptMaxOn: (route: Route) => number | null,
): Candidates | { readonly refusal: Refusal } {
  const [first, ...others] = asking.routes
  const candidate = candidateOn(first, asking, promptMaxOn(first))
  if ('refusal' in candidate) return candidate
  const fallbacks = others.map((route) => candidateOn(route, asking, promptMaxOn(route)))
  return [candidate, ...fallbacks.filter(isCandidate)]
}

function isCandidate(fallback: RouteCandidate | { readonly refusal: Refusal }): fallback is RouteCandidate {
  return !('refusal' in fallback)
}

function candidateOn(
  route: Route,
  asking: Asking,
  promptMax: number | null,
): RouteCandidate | { readonly refusal: Refusal } {
  const { price, type } = route.document
  if (promptMax === null && price !== null) return { refusal: promptUnbounded(asking.content.outside) }
  // The prompt of a free model costs nothing; TPM counts the expected tokens.
  const size = sizeOn(route, asking, promptMax ?? asking.estimatePrompt())
  const candidate = { route, promptTokensMax: promptMax, ...estimateCost(size, route) }
  if (asking.maxCostNano === null) return candidate
  const boundNano = costBound(size, route)
  if (boundNano === undefined)
    return {
      refusal: costUnbounded(asking.outputTokensMax === undefined ? 'unset' : 'not_sent', asking.maxCostNano),
    }
  return boundNano <= asking.maxCostNano
    ? candidate
    : { refusal: exceedsMaxCost(boundNano, asking.maxCostNano, type) }
}

/**
 * Measures the prompt once, for those routes whose families have a known tokenizer, and returns the
 * candidates with the results. `undefined` if it could not be measured. `null` if measuring would give no
 * tighter bound.
 */
export function measuringOf(
  asking: Asking,
  measurePrompt: MeasurePrompt,
  takeApart: () => MeasurablePrompt | null | Promise<MeasurablePrompt | null>,
): Exchange['measureCandidates'] {
  const families = new Map(asking.routes.map((route) => [route, familiesOf(asking.content, route) ?? []]))
  if ([...families.values()].every(({ length }) => length === 0)) return null
  let measuring: Promise<Candidates | undefined> | undefined
  return () => {
    measuring ??= measure()
    return measuring
  }

  async function measure(): Promise<Candidates | undefined> {
    const prompt = await takeApart()
    if (prompt === null) return undefined
    const measured = await measurePrompt(prompt, [...families.values()].flat())
    if (measured === undefined) return undefined
    let at = 0
    const boundOn = new Map<Route, number | null>()
    for (const [route, { length }] of families) {
      boundOn.set(route, tighter(promptTokensMax(asking.content, route), measured.slice(at, at + length)))
      at += length
    }
    const candidates = candidatesOf(asking, (route) => boundOn.get(route) ?? null)
    return 'refusal' in candidates ? undefined : candidates
  }
}

/** The highest count for any of a route's backends; the free bound if one of them has no count. */
function tighter(free: number | null, measured: readonly (number | null)[]): number | null {
  const counts = measured.filter((count) => count !== null)
  if (counts.length === 0 || counts.length < measured.length) return free
  const most = Math.max(...counts)
  return free === null ? most : Math.min(free, most)
}

/**
 * The output limit is the one that the model would receive, at every backend. If one backend receives no
 * limit, and could not receive one from us either, the limit is unsendable.
 */
function sizeOn(route: Route, asking: Asking, promptMax: number): RequestSize {
  const { request } = asking
  const measured = {
    promptTokensMax: promptMax,
    choices: asking.choices,
    outputTokensMax: asking.outputTokensMax,
    outputTokensCap: asking.outputTokensCap,
  }
  if (route.document.type === 'embedding') return { ...measured, outputTokensMax: 0 }
  if (route.backends.every(({ dialect }) => dialect.route.limit === 'as_asked')) return measured
  const told = route.backends.map(({ dialect }) => findOutputLimit(request, dialect))
  const limits = told.filter((limit) => limit !== null)
  if (limits.length === told.length)
    return asking.outputTokensCap === undefined
      ? { ...measured, outputTokensMax: Math.max(...limits) }
      : { ...measured, outputTokensCap: Math.max(...limits) }
  const isToldOurs = route.backends.every(
    ({ dialect }) => findOutputLimit({ ...request, ...ours }, dialect) !== null,
  )
  return { ...measured, outputTokensMax: limits.length === 0 && isToldOurs ? undefined : 'unsendable' }
}

/** Stands for a limit that `admit` may set: any number would do. */
const ours = outputLimitField(1)
