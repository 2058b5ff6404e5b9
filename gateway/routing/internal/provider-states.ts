import type { Trouble } from '#core/catalog/gateway-report'
import type { ProviderStanding } from '../health-report.ts'
import { createProviderLimit, type LimitDeps, type ProviderLimit } from '../provider-limit.ts'
import type { Provider, RouteTable } from '../route-table.ts'
import { createBoundedMap } from './bounded-map.ts'
import { createRetryBudget, type RetryBudget } from './retry-budget.ts'

/** The memory about a provider, independent of its models. */
export type ProviderState = {
  readonly limit: ProviderLimit
  readonly retries: RetryBudget
  /** The state since its present document. */
  standing: Standing
}

/** Another document has another one, so that what was sent before teaches nothing. */
type Standing = {
  /** When the last request was sent that was answered well. */
  answeredAtMs: number
  /** Why it did not list its models when it was last asked to, and when that was known. */
  listTrouble: { readonly kind: Trouble; readonly sinceMs: number } | null
}

/** The result of listing a provider's models: `unknown` if it proves nothing. */
type Listed = 'good' | 'unknown' | Trouble

export type ProviderStates = {
  get(name: string): ProviderState
  /**
   * Takes a place in a provider's limit to list its models, and answers what to call with the outcome; `undefined`: there is
   * no place now.
   */
  enterList(provider: Provider): ((listed: Listed) => void) | undefined
  answeredAtMs(name: string): number
  standings(): readonly ProviderStanding[]
  /** A table is served from now on: providers that it does not have, or has other documents for, start over. */
  follow(table: Pick<RouteTable, 'providers'>): void
}

const never = Number.NEGATIVE_INFINITY

/** Remembers the providers that were tried. */
export function createProviderStates(deps: LimitDeps): ProviderStates {
  const states = createBoundedMap<ProviderState>(() => ({
    limit: createProviderLimit(deps),
    retries: createRetryBudget(),
    standing: newStanding(),
  }))
  let followed: ReadonlyMap<string, Provider> = new Map()
  return {
    get: states.get,
    answeredAtMs: (name) => states.find(name)?.standing.answeredAtMs ?? never,
    standings: () => [...states.entries()].map(([name, { standing }]) => ({ name, ...shownOf(standing) })),
    enterList(provider) {
      const { limit, standing } = states.get(provider.name)
      if (limit.take(provider) > 0) return undefined
      const sentAtMs = deps.nowMs()
      return (listed) => {
        if (listed === 'unknown') return
        if (listed === 'good') noteAnswer(standing, sentAtMs)
        standing.listTrouble = listed === 'good' ? null : { kind: listed, sinceMs: deps.nowMs() }
      }
    },
    follow({ providers }) {
      const present = new Map(providers.map((provider) => [provider.name, provider]))
      for (const [name, state] of states.entries())
        if (present.get(name) !== followed.get(name)) state.standing = newStanding()
      followed = present
    },
  }
}

function newStanding(): Standing {
  return { answeredAtMs: never, listTrouble: null }
}

/** Not every provider has a list of models (404): one that serves is not accused of that. */
function shownOf({ answeredAtMs, listTrouble }: Standing): Omit<ProviderStanding, 'name'> {
  const answers = answeredAtMs > never
  const isOver =
    listTrouble === null ||
    answeredAtMs > listTrouble.sinceMs ||
    (answers && listTrouble.kind === 'misrouted')
  return { answers, trouble: isOver ? null : listTrouble.kind }
}

/** A request that was sent then has been answered well. */
export function noteAnswer(standing: Standing, sentAtMs: number): void {
  standing.answeredAtMs = Math.max(standing.answeredAtMs, sentAtMs)
}
