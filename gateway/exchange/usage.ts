import type { TokenClasses } from '#core/ledger/price'
import { fieldsOf, type JsonObject } from '../wire/json-fields.ts'
import type { OpenAiUsage } from '../wire/openai-usage.ts'

/**
 * More tokens than any request has, whatever its other bounds: twenty times the longest context there is. Prices below
 * 0.2 ₽ a token can then always be posted (`amountNanoMax`, 4 million rubles).
 */
const tokensMax = 20_000_000

export type UsageReading =
  | { readonly kind: 'reported'; readonly tokens: TokenClasses; readonly openai: OpenAiUsage }
  | { readonly kind: 'missing' }
  | { readonly kind: 'untrusted'; readonly why: string }

/**
 * A provider's `usage` in disjoint classes, if it can be believed.
 *
 * Zero is a count, not a gap. A detail that is absent is 0; one larger than its total makes the whole
 * untrusted. If usage came more than once the caller passes the last: providers that repeat it count upwards.
 * More than the request can have is cut off where it is billed (`internal/bill.ts`).
 */
export function readUsage(usage: unknown): UsageReading {
  const fields = fieldsOf(usage)
  const prompt = fields?.prompt_tokens ?? undefined
  const total = fields?.total_tokens ?? undefined
  if (fields === undefined || prompt === undefined) return { kind: 'missing' }
  if (!isCount(prompt) || (total !== undefined && !isCount(total)))
    return untrusted('prompt or total is not a valid count')
  const completion = fields.completion_tokens ?? (total === undefined ? undefined : total - prompt)
  if (completion === undefined) return { kind: 'missing' }
  if (!isCount(completion)) return untrusted('completion is not a valid count')

  const details = readDetails(fields)
  if (details === undefined) return untrusted('a detail is not a valid count')
  const output = outputWithReasoning(prompt, completion, details.reasoning, total)
  const input = prompt - details.cached - details.cacheWrite
  if (input < 0) return untrusted('cached tokens exceed the prompt')
  if (details.reasoning > output) return untrusted('reasoning tokens exceed the completion')
  const tokens: TokenClasses = {
    input,
    cachedInput: details.cached,
    cacheWrite: details.cacheWrite,
    output: output - details.reasoning,
    reasoning: details.reasoning,
  }
  return { kind: 'reported', tokens, openai: { ...openAiUsageOf(tokens), ...shownDetails(fields, tokens) } }
}

/** Token classes in OpenAI's shape: what a client reads where the provider gave nothing to show. */
export function openAiUsageOf(tokens: TokenClasses): OpenAiUsage {
  const prompt = tokens.input + tokens.cachedInput + tokens.cacheWrite
  const completion = tokens.output + tokens.reasoning
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: {
      cached_tokens: tokens.cachedInput,
      ...(tokens.cacheWrite > 0 ? { cache_write_tokens: tokens.cacheWrite } : {}),
    },
    completion_tokens_details: { reasoning_tokens: tokens.reasoning },
  }
}

/** Providers report cached and reasoning counts in different fields. */
function readDetails(
  fields: JsonObject,
): { cached: number; cacheWrite: number; reasoning: number } | undefined {
  const ofPrompt = fieldsOf(fields.prompt_tokens_details)
  const ofCompletion = fieldsOf(fields.completion_tokens_details)
  const cached = ofPrompt?.cached_tokens ?? fields.prompt_cache_hit_tokens ?? fields.cached_tokens ?? 0
  const cacheWrite = ofPrompt?.cache_write_tokens ?? fields.cache_creation_input_tokens ?? 0
  const reasoning = ofCompletion?.reasoning_tokens ?? fields.reasoning_tokens ?? 0
  return isCount(cached) && isCount(cacheWrite) && isCount(reasoning)
    ? { cached, cacheWrite, reasoning }
    : undefined
}

/** Some (xAI) leave reasoning out of the completion; then, and only then, the total is the sum of all three. */
function outputWithReasoning(prompt: number, completion: number, reasoning: number, total?: number): number {
  return reasoning > 0 && total === prompt + completion + reasoning ? completion + reasoning : completion
}

const promptDetails = ['audio_tokens', 'text_tokens', 'image_tokens']
const completionDetails = [
  'audio_tokens',
  'text_tokens',
  'accepted_prediction_tokens',
  'rejected_prediction_tokens',
]

function shownDetails(
  fields: JsonObject,
  tokens: TokenClasses,
): Pick<OpenAiUsage, 'prompt_tokens_details' | 'completion_tokens_details'> {
  const own = openAiUsageOf(tokens)
  return {
    prompt_tokens_details: {
      ...pickCounts(fields.prompt_tokens_details, promptDetails),
      ...own.prompt_tokens_details,
    },
    completion_tokens_details: {
      ...pickCounts(fields.completion_tokens_details, completionDetails),
      ...own.completion_tokens_details,
    },
  }
}

function pickCounts(details: unknown, names: readonly string[]): Record<string, number> {
  const fields = fieldsOf(details)
  const picked: Record<string, number> = {}
  for (const name of names) {
    const value = fields?.[name]
    if (isCount(value)) picked[name] = value
  }
  return picked
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= tokensMax
}

function untrusted(why: string): UsageReading {
  return { kind: 'untrusted', why }
}
