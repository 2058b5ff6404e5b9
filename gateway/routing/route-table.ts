import type { ProviderDocument, RouteDocument } from '#core/catalog/catalog-document'
import type { DialectSource } from '../upstream/dialect.ts'
import type { Dialect } from '../upstream/provider-adapter.ts'
import type { ProviderAccess } from '../upstream/provider-agents.ts'

/** A provider ready to be called: its credential opened. Lives in memory only; never log one. */
export type Provider = DialectSource & {
  readonly name: string
  /** Every header its calls carry, the credential's included; names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Its credential, both bare and as sent in its header. Both are redacted from its responses. */
  readonly secrets: readonly string[]
  readonly access: ProviderAccess
  /** Of the whole installation; absent: as many as come. */
  readonly requestsPerMinute: number | undefined
  /** Without it only requests show how it is. */
  readonly healthCheck: ProviderDocument['healthCheck']
}

/** Where a route's model runs: at one provider. */
export type Backend = {
  readonly name: string
  readonly provider: Provider
  /** How to ask it for this route's model. */
  readonly dialect: Dialect
  /** Lower is tried first; weights share the traffic within one priority. */
  readonly priority: number
  /** Above 0. */
  readonly weight: number
}

/**
 * A model that clients may name, with the backends that may be tried: those whose provider could be read and whose
 * weight is not 0. None: every attempt fails.
 */
export type Route = {
  readonly document: RouteDocument
  readonly backends: readonly Backend[]
}

/**
 * The routes that this gateway serves, as of one revision of the catalog. Never changes; a new one replaces
 * it.
 */
export type RouteTable = {
  /** From Postgres; never goes back. */
  readonly revision: string
  /** When the next price of a route comes into force; infinity: none waits. */
  readonly nextPriceAtMs: number
  readonly routes: readonly Route[]
  /** Those that no route leads to, too. */
  readonly providers: readonly Provider[]
  findModel(name: string): Route | undefined
  /** The models that an organization may see, in order of name. */
  modelsFor(organizationId: string): readonly Route[]
  /** The model's direct fallbacks that exist and serve the same operation, in order; not theirs in turn. */
  fallbacksOf(route: Route): readonly Route[]
}

/** The table of `routes` as of `revision`. */
export function createRouteTable(
  revision: string,
  routes: readonly Route[],
  providers: readonly Provider[] = [],
): RouteTable {
  const byName = new Map(routes.map((route) => [route.document.model, route]))
  const sorted = routes.toSorted((a, b) => (a.document.model < b.document.model ? -1 : 1))
  return {
    revision,
    nextPriceAtMs: routes.reduce(
      (first, { document }) => Math.min(first, document.nextPrice?.fromMs ?? Number.POSITIVE_INFINITY),
      Number.POSITIVE_INFINITY,
    ),
    routes,
    providers,
    findModel: (name) => byName.get(name),
    modelsFor: (organizationId) => sorted.filter((route) => isOpenTo(route, organizationId)),
    fallbacksOf: (route) =>
      route.document.fallbacks.flatMap((name) => {
        const fallback = byName.get(name)
        return fallback?.document.type === route.document.type && fallback !== route ? [fallback] : []
      }),
  }
}

/** The table with the prices that are in force at `nowMs`; the same one if no price waits for an earlier time. */
export function pricedAt(table: RouteTable, nowMs: number): RouteTable {
  if (nowMs < table.nextPriceAtMs) return table
  const routes = table.routes.map((route): Route => {
    const { nextPrice, ...document } = route.document
    if (nextPrice === undefined || nowMs < nextPrice.fromMs) return route
    return { ...route, document: { ...document, price: nextPrice.price } }
  })
  return createRouteTable(table.revision, routes, table.providers)
}

/** Whether an organization may see a route. */
export function isOpenTo(route: Route, organizationId: string): boolean {
  const { organizations } = route.document
  return organizations === null || organizations.includes(organizationId)
}
