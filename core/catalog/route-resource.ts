import type { ZodSafeParseResult } from 'zod'
import { type ModelRoute, modelRouteSchema } from '#crds/model-route'
import { durationMs, durationText } from '#crds/resource'
import { findRub, formatRub, type NanoRub, nanoRub } from '../ledger/money.ts'
import type { Price } from '../ledger/price.ts'
import type { CabinetRoute } from './cabinet-routes.ts'
import type { StoredRoute } from './catalog-store.ts'

/** A route and its price. Organizations are named, not yet known by id. */
export type RouteDraft = {
  readonly route: Omit<StoredRoute, 'organizations'>
  /** `null`: free, and then the resource has no price of any kind. */
  readonly price: Omit<Price, 'id'> | null
  /** Names; `null`: all. */
  readonly organizations: readonly string[] | null
}

/** Translates a ModelRoute for the catalog. Pure. */
export function draftRoute({ spec }: Pick<ModelRoute, 'spec'>): RouteDraft {
  const { pricingRubPerMillionTokens: prices, timeouts, access } = spec
  return {
    route: {
      model: spec.model,
      type: spec.type,
      displayName: spec.displayName ?? spec.model,
      description: spec.description,
      inputModalities: spec.inputModalities,
      ...(spec.capabilities === undefined ? {} : { capabilities: spec.capabilities }),
      contextLength: spec.contextLength ?? null,
      maxOutputTokens: spec.maxOutputTokens ?? null,
      ...(spec.hiddenReasoning === false ? { hiddenReasoning: false } : {}),
      defaultOutputTokens: spec.defaultOutputTokens,
      backends: spec.backends.map(({ providerRef, ...backend }) => ({
        ...backend,
        provider: providerRef.name,
      })),
      fallbacks: spec.fallbacks,
      timeouts: {
        requestMs: durationMs(timeouts.request),
        firstByteMs: Math.min(durationMs(timeouts.firstByte), durationMs(timeouts.request)),
        streamIdleMs: durationMs(timeouts.streamIdle),
      },
      attempts: spec.retry.attempts,
      parameters: spec.parameters,
    },
    price:
      prices === undefined
        ? null
        : {
            input: nanoPerToken(prices.input),
            cachedInput: findNanoPerToken(prices.cachedInput),
            cacheWrite: findNanoPerToken(prices.cacheWrite),
            output: nanoPerToken(prices.output ?? '0'),
            reasoning: findNanoPerToken(prices.reasoning),
            perRequest: findRub(spec.pricingRubPerRequest) ?? nanoRub(0n),
          },
    organizations: access.scope === 'All' ? null : access.organizations,
  }
}

/**
 * Nano-rubles per token of a price in rubles per 1M tokens: exact, as it has at most 3 decimals.
 *
 * 1 ₽ per 1M tokens = 10⁹ nano-rubles ÷ 10⁶ = 1000 per token.
 */
function nanoPerToken(price: string): NanoRub {
  const [whole = '', fraction = ''] = price.split('.')
  return nanoRub(BigInt(whole + fraction.padEnd(3, '0')))
}

/** The price that `nanoPerToken` reads. */
function pricePerMillion(nano: NanoRub): string {
  return `${nano / 1000n}.${String(nano % 1000n).padStart(3, '0')}`
}

function findNanoPerToken(price: string | undefined): NanoRub | null {
  return price === undefined ? null : nanoPerToken(price)
}

/**
 * The ModelRoute equivalent of a route of the cabinet: `draftRoute` reads the same out of it again. Pure.
 *
 * Fails with an explanation if a ModelRoute cannot represent the route. The route has no price, or a name or
 * number that the resource does not allow.
 */
export function mirrorRoute(made: CabinetRoute): ZodSafeParseResult<ModelRoute['spec']> {
  return modelRouteSchema.shape.spec.safeParse(routeSpecOf(made))
}

/** The spec of a ModelRoute for any route, which may have what a ModelRoute does not allow. Pure. */
export function routeSpecOf({ route, price, organizations }: CabinetRoute): object {
  const { timeouts } = route
  return {
    model: route.model,
    type: route.type,
    displayName: route.displayName,
    description: route.description,
    inputModalities: route.inputModalities,
    capabilities: route.capabilities,
    contextLength: route.contextLength ?? undefined,
    maxOutputTokens: route.maxOutputTokens ?? undefined,
    hiddenReasoning: route.hiddenReasoning,
    defaultOutputTokens: route.defaultOutputTokens,
    backends: route.backends.map(({ provider, ...backend }) => ({
      ...backend,
      providerRef: providerRefOf(provider),
    })),
    fallbacks: route.fallbacks,
    timeouts: {
      request: durationText(timeouts.requestMs),
      firstByte: durationText(timeouts.firstByteMs),
      streamIdle: durationText(timeouts.streamIdleMs),
    },
    retry: { attempts: route.attempts },
    parameters: route.parameters,
    ...pricingOf(price),
    access: organizations === null ? { scope: 'All' } : { scope: 'Organizations', organizations },
  }
}

/** In the catalog, a provider of another namespace has it before its name. */
function providerRefOf(provider: string): object {
  const slash = provider.indexOf('/')
  if (slash < 0) return { name: provider }
  return { name: provider.slice(slash + 1), namespace: provider.slice(0, slash) }
}

function pricingOf(price: CabinetRoute['price']): object {
  if (price === 'none') return {}
  if (price === 'free') return { free: true }
  const optional = (nano: NanoRub | null) => (nano === null ? undefined : pricePerMillion(nano))
  return {
    pricingRubPerMillionTokens: {
      input: pricePerMillion(price.input),
      cachedInput: optional(price.cachedInput),
      cacheWrite: optional(price.cacheWrite),
      output: pricePerMillion(price.output),
      reasoning: optional(price.reasoning),
    },
    pricingRubPerRequest: formatRub(price.perRequest),
  }
}
