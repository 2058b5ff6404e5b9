import type { Candidate } from '#cabinet/admission/admission'
import { dearestInput, dearestOutput, type Price } from '#cabinet/ledger/price'
import type { Route } from './route-table.ts'

/** What a request may use up, whatever model serves it. */
export type RequestSize = {
  /** Estimated; a hold allows for a quarter more. */
  readonly promptTokens: number
  /** `n`: how many answers are asked for. */
  readonly choices: number
  /** Of one answer, where the request names a limit; `unsendable`: its route keeps every limit from the provider. */
  readonly outputTokensMax: number | 'unsendable' | undefined
}

/**
 * What a request may cost on `route`, for `admit` to hold, and what counts against TPM.
 *
 * The prompt: 1.25 × its estimated tokens × dearest input class + price per request, in nano-roubles rounded up. An
 * output token: choices × dearest output class. Of output the request's own limit counts, at most what the model can
 * write, since no more is asked for; where it names none `admit` decides what the balance covers, unless the provider
 * cannot be told (`limit: 'unsendable'`): then it is the model's whole length. A free model costs nothing.
 */
export function estimateCost(size: RequestSize, { document }: Route): Omit<Candidate, 'model'> {
  const { price, defaultOutputTokens, maxOutputTokens } = document
  const named = size.outputTokensMax === 'unsendable' ? undefined : size.outputTokensMax
  const expected = named ?? defaultOutputTokens
  const promptTokens = BigInt(size.promptTokens)
  const outputTokens = BigInt(size.choices) * BigInt(Math.min(expected, maxOutputTokens ?? expected))
  return {
    tokens: Number(least(BigInt(Number.MAX_SAFE_INTEGER), promptTokens + outputTokens)),
    promptNano: price === null ? 0n : costOf(5n * promptTokens, 0n, price),
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
  const named = size.outputTokensMax === 'unsendable' ? null : size.outputTokensMax
  const limits = [named, maxOutputTokens, contextLength, size.choices === 0 ? 0 : null]
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
