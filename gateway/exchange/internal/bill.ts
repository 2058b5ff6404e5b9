import { costOf, noTokens, type Price, type TokenClasses } from '#core/ledger/price'
import type { UsageReading } from '../usage.ts'

/** The facts about a request when it has ended. */
export type Ending = {
  /**
   * `complete`: all content was delivered, or is ready to be. `client_gone`, `upstream_cut`: broken off. `out_of_time`:
   * its caller gave it too little time for an answer to begin.
   * `unanswered`: no provider answered 2xx, or what one answered was thrown away.
   */
  readonly kind: 'complete' | 'client_gone' | 'out_of_time' | 'upstream_cut' | 'unanswered'
  readonly usage: UsageReading
  /** Estimated; asked for only where the provider's count is not believed. */
  readonly estimatePrompt: () => number
  /** More prompt is not billed: the request cannot have it. `null`: no bound. */
  readonly promptTokensMax: number | null
  readonly delivered: DeliveredTokens
  /** More output is not billed: the provider was sent this limit, or cannot write more. `null`: no bound. */
  readonly outputTokensMax: number | null
}

/**
 * Estimated tokens of the delivered response. Reasoning is separate, because it may have a separate price.
 */
export type DeliveredTokens = { readonly output: number; readonly reasoning: number }

export const nothingDelivered: DeliveredTokens = { output: 0, reasoning: 0 }

export type Bill = {
  readonly tokens: TokenClasses
  readonly costNano: bigint
  readonly usageSource: 'provider' | 'estimated' | 'none'
  /** Where there was more than is billed. */
  readonly cut: readonly ('prompt' | 'output')[]
}

/** Nothing happened that is billed. */
export const nothingDue: Bill = { tokens: noTokens, costNano: 0n, usageSource: 'none', cut: [] }

/**
 * The cost of a request, by the table in docs/use/billing.md.
 *
 * The provider's own count wins if it arrived and can be believed. The exception is a stream cut by the
 * provider, which is estimated: a count that came before the cut does not describe what was delivered. An
 * estimate is the prompt plus the delivered output; before the first content it is only the prompt. More
 * prompt than the request can have, and output beyond the limit that the provider was sent, are the
 * platform's loss. So a bill is never more than its hold.
 */
export function billOf(ending: Ending, price: Price | null): Bill {
  if (ending.kind === 'unanswered') return nothingDue
  const believed = findBelieved(ending)
  const counted = believed ?? { ...noTokens, input: ending.estimatePrompt(), ...ending.delivered }
  const bounded = withinBound(counted, ending.promptTokensMax)
  const tokens = withinLimit(bounded, ending.outputTokensMax)
  // An estimate beyond the bound is no provider's doing.
  const cutPrompt = believed !== undefined && bounded !== counted ? (['prompt'] as const) : []
  const cutOutput = tokens !== bounded ? (['output'] as const) : []
  return {
    tokens,
    costNano: costOf(tokens, price),
    usageSource: believed ? 'provider' : 'estimated',
    cut: [...cutPrompt, ...cutOutput],
  }
}

/** No more prompt than the bound; what was read from a cache, or written to one, is kept first. */
function withinBound(tokens: TokenClasses, promptTokensMax: number | null): TokenClasses {
  if (promptTokensMax === null || promptOf(tokens) <= promptTokensMax) return tokens
  const cachedInput = Math.min(tokens.cachedInput, promptTokensMax)
  const cacheWrite = Math.min(tokens.cacheWrite, promptTokensMax - cachedInput)
  return { ...tokens, cachedInput, cacheWrite, input: promptTokensMax - cachedInput - cacheWrite }
}

/** No more output than the limit; reasoning comes first, as it was written first. */
function withinLimit(tokens: TokenClasses, outputTokensMax: number | null): TokenClasses {
  if (outputTokensMax === null || tokens.output + tokens.reasoning <= outputTokensMax) return tokens
  const reasoning = Math.min(tokens.reasoning, outputTokensMax)
  return { ...tokens, reasoning, output: outputTokensMax - reasoning }
}

/** Why the provider's own count does not make the bill. */
export type EstimateReason = 'missing' | 'untrusted' | 'client_gone' | 'out_of_time' | 'upstream_cut'

/** Why the bill of such an ending must be estimated; `undefined` if it is not. */
export function whyEstimated(ending: Pick<Ending, 'kind' | 'usage'>): EstimateReason | undefined {
  const { kind, usage } = ending
  if (kind === 'unanswered' || findBelieved(ending) !== undefined) return undefined
  if (kind === 'upstream_cut' || kind === 'out_of_time') return kind
  if (usage.kind === 'untrusted') return 'untrusted'
  return kind === 'client_gone' ? 'client_gone' : 'missing'
}

function findBelieved({ kind, usage }: Pick<Ending, 'kind' | 'usage'>): TokenClasses | undefined {
  return usage.kind === 'reported' && kind !== 'upstream_cut' ? usage.tokens : undefined
}

/** All tokens of a request, as TPM counts them. */
export function totalOf(tokens: TokenClasses): number {
  return promptOf(tokens) + tokens.output + tokens.reasoning
}

function promptOf(tokens: TokenClasses): number {
  return tokens.input + tokens.cachedInput + tokens.cacheWrite
}
