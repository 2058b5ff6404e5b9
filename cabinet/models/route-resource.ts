import type { ModelRoute } from '#crds/model-route'
import { durationMs } from '#crds/resource'
import { findRub, type NanoRub, nanoRub } from '../ledger/money.ts'
import type { Price } from '../ledger/price.ts'
import type { StoredRoute } from './catalogue-store.ts'

/** A route and its price. Organizations are named, not yet known by id. */
export type RouteDraft = {
  readonly route: Omit<StoredRoute, 'organizations'>
  /** `null`: free. */
  readonly price: Omit<Price, 'id'> | null
  /** Names; `null`: all. */
  readonly organizations: readonly string[] | null
}

/** What a ModelRoute means for the catalogue. Pure. */
export function draftRoute({ spec }: ModelRoute): RouteDraft {
  const { pricingRubPerMillionTokens: prices, timeouts, access } = spec
  return {
    route: {
      model: spec.model,
      type: spec.type,
      displayName: spec.displayName ?? spec.model,
      description: spec.description,
      contextLength: spec.contextLength ?? null,
      maxOutputTokens: spec.maxOutputTokens ?? null,
      defaultOutputTokens: spec.defaultOutputTokens,
      backends: spec.backends.map(({ providerRef, ...backend }) => ({
        ...backend,
        provider: providerRef.name,
      })),
      fallbacks: spec.fallbacks,
      timeouts: {
        requestMs: durationMs(timeouts.request),
        firstByteMs: durationMs(timeouts.firstByte),
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
 * Nano-roubles per token of a price in roubles per 1M tokens: exact, as it has at most 3 decimals.
 *
 * 1 ₽ per 1M tokens = 10⁹ nano-roubles ÷ 10⁶ = 1000 per token.
 */
function nanoPerToken(price: string): NanoRub {
  const [whole = '', fraction = ''] = price.split('.')
  return nanoRub(BigInt(whole + fraction.padEnd(3, '0')))
}

function findNanoPerToken(price: string | undefined): NanoRub | null {
  return price === undefined ? null : nanoPerToken(price)
}
