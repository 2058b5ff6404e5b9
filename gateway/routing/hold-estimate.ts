import { amountNanoMax } from '#cabinet/admission/admission'
import { dearestInput, dearestOutput, type Price } from '#cabinet/ledger/price'
import type { Route } from './route-table.ts'

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
    holdNano: price === null ? 0n : least(amountNanoMax, costOf(5n * promptTokens, outputTokens, price)),
    tokens: Number(least(BigInt(Number.MAX_SAFE_INTEGER), promptTokens + outputTokens)),
  }
}

/**
 * The most that is expected of a request on `route`, or `undefined` where nothing bounds its answer: it names no limit,
 * and none is known of the model. A hold may be less: it takes what prompts and answers usually are.
 *
 * `unreadBytes` of the request are not in its estimated prompt, and may be a token each. A chat's prompt is no longer
 * than the model's context; of an embedding that is the bound of each text.
 */
export function costBound(
  size: RequestSize & { readonly unreadBytes: number },
  { document }: Route,
): bigint | undefined {
  const { price, maxOutputTokens, contextLength } = document
  if (price === null) return 0n
  const limits = [size.outputTokensMax, maxOutputTokens, contextLength, size.choices === 0 ? 0 : null]
  const outputTokens = Math.min(...limits.flatMap((limit) => limit ?? []))
  if (outputTokens === Number.POSITIVE_INFINITY) return undefined
  const expected = 5n * BigInt(size.promptTokens) + 4n * BigInt(size.unreadBytes)
  const isBounded = contextLength !== null && size.choices > 0
  const promptQuarters = isBounded ? least(expected, 4n * BigInt(contextLength)) : expected
  return costOf(promptQuarters, BigInt(size.choices) * BigInt(outputTokens), price)
}

/** The prompt is counted in quarters of a token, the sum rounded up. */
function costOf(promptQuarters: bigint, outputTokens: bigint, price: Price): bigint {
  const prompt = (promptQuarters * dearestInput(price) + 3n) / 4n
  return prompt + outputTokens * dearestOutput(price) + price.perRequest
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
