import { dearestInput, dearestOutput } from '#cabinet/price'
import type { Route } from './route-table.ts'

/** Largest hold: balances are compared as doubles in Redis, exact up to here (`architecture.md`, Redis). */
const holdNanoMax = 4_000_000_000_000_000n

/** What a request may use up, whatever model serves it. */
export type RequestSize = {
  /** Estimated; a hold allows for a quarter more. */
  readonly promptTokens: number
  /** `n`: how many answers are asked for. */
  readonly choices: number
  /** Of one answer, where the request names a limit. */
  readonly outputTokensMax: number | undefined
}

/**
 * What has to be held before `route` may serve a request, and what counts against TPM.
 *
 * 1.25 × prompt × dearest input class + choices × (limit, or the route's default; at most what the model can write,
 * since no more is asked for) × dearest output class + price per request, in nano-roubles rounded up. A free model
 * holds nothing. Both figures are cut off at what Redis can compare exactly: neither is near anything that a balance
 * or a limit could allow.
 */
export function estimateHold(
  size: RequestSize,
  route: Route,
): { readonly holdNano: bigint; readonly tokens: number } {
  const { price, defaultOutputTokens, maxOutputTokens } = route.document
  const expected = size.outputTokensMax ?? defaultOutputTokens
  const outputTokens = BigInt(size.choices) * BigInt(Math.min(expected, maxOutputTokens ?? expected))
  const promptTokens = BigInt(size.promptTokens)
  return {
    holdNano: price === null ? 0n : least(holdNanoMax, holdOf(promptTokens, outputTokens, price)),
    tokens: Number(least(BigInt(Number.MAX_SAFE_INTEGER), promptTokens + outputTokens)),
  }
}

/**
 * The most that is expected of a request on `route`, or `undefined` where nothing bounds its answer: it names no limit,
 * and none is known of the model. A hold may be less: it takes what answers usually are.
 */
export function costBound(size: RequestSize, { document }: Route): bigint | undefined {
  const { price, maxOutputTokens, contextLength } = document
  if (price === null) return 0n
  const limits = [size.outputTokensMax, maxOutputTokens, contextLength, size.choices === 0 ? 0 : null]
  const outputTokens = Math.min(...limits.flatMap((limit) => limit ?? []))
  if (outputTokens === Number.POSITIVE_INFINITY) return undefined
  return holdOf(BigInt(size.promptTokens), BigInt(size.choices) * BigInt(outputTokens), price)
}

function holdOf(
  promptTokens: bigint,
  outputTokens: bigint,
  price: Parameters<typeof dearestInput>[0],
): bigint {
  const prompt = (5n * promptTokens * dearestInput(price) + 3n) / 4n
  return prompt + outputTokens * dearestOutput(price) + price.perRequest
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
