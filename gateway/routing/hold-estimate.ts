import type { Candidate } from '#core/admission/admission'
import { dearestInput, dearestOutput, type Price } from '#core/ledger/price'
import type { Route } from './route-table.ts'

/** The most that a request may use on one route. */
export type RequestSize = {
  /** An upper bound (`prompt-bound.ts`). */
  readonly promptTokensMax: number
  /** `n`: how many answers are asked for. */
  readonly choices: number
  /** Of one answer, where the request names a limit; `unsendable`: its route keeps every limit from the provider. */
  readonly outputTokensMax: number | 'unsendable' | undefined
  /** Of one answer, where the request names no limit but allows no more than this. */
  readonly outputTokensCap?: number | undefined
}

/**
 * The possible cost of a request on `route`, for `admit` to hold, and what counts against TPM.
 *
 * The prompt: its bound × most expensive input class + price per request, in nano-rubles. An output token:
 * choices × most expensive output class. The output bound is the request's own limit, at most what the model
 * can write. Without a limit, `admit` decides what the balance covers, at most the cap. If the provider accepts no limit
 * (`limit: 'unsendable'`), the bound is the model's whole length. A free model costs nothing.
 */
export function estimateCost(size: RequestSize, { document }: Route): Omit<Candidate, 'model'> {
  const { price, defaultOutputTokens } = document
  const isSendable = size.outputTokensMax !== 'unsendable'
  const named = size.outputTokensMax === 'unsendable' ? undefined : size.outputTokensMax
  const maxOutputTokens = lesser(document.maxOutputTokens, isSendable ? size.outputTokensCap : undefined)
  const expected = named ?? defaultOutputTokens
  const outputTokens = BigInt(size.choices) * BigInt(Math.min(expected, maxOutputTokens ?? expected))
  return {
    tokens: Number(least(BigInt(Number.MAX_SAFE_INTEGER), BigInt(size.promptTokensMax) + outputTokens)),
    promptNano: price === null ? 0n : costOf(size.promptTokensMax, 0n, price),
    outputTokenNano: price === null ? 0n : BigInt(size.choices) * dearestOutput(price),
    output: wishOf(size.outputTokensMax, defaultOutputTokens, maxOutputTokens),
  }
}

function wishOf(
  named: RequestSize['outputTokensMax'],
  usual: number,
  longest: number | null,
): Candidate['output'] {
  if (named === undefined) return { limit: null, usual, longest }
  if (named === 'unsendable') return { limit: longest ?? usual }
  return { limit: Math.min(named, longest ?? named) }
}

/**
 * The most that a request can cost on `route`, or `undefined` where nothing bounds its answer: it names no limit, and none
 * is known of the model. A hold may be less: it takes what answers usually are, and then sends that as the limit.
 */
export function costBound(size: RequestSize, { document }: Route): bigint | undefined {
  const { price, maxOutputTokens, contextLength } = document
  if (price === null) return 0n
  const named = size.outputTokensMax === 'unsendable' ? null : size.outputTokensMax
  const cap = size.outputTokensMax === 'unsendable' ? null : size.outputTokensCap
  const limits = [named, cap, maxOutputTokens, contextLength, size.choices === 0 ? 0 : null]
  const outputTokens = Math.min(...limits.flatMap((limit) => limit ?? []))
  if (outputTokens === Number.POSITIVE_INFINITY) return undefined
  return costOf(size.promptTokensMax, BigInt(size.choices) * BigInt(outputTokens), price)
}

function costOf(promptTokens: number, outputTokens: bigint, price: Price): bigint {
  return BigInt(promptTokens) * dearestInput(price) + outputTokens * dearestOutput(price) + price.perRequest
}

/** Where one of them is not known, the other. */
function lesser(known: number | null, cap: number | undefined): number | null {
  return known === null || cap === undefined ? (known ?? cap ?? null) : Math.min(known, cap)
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
