import { readUsage, type UsageReading } from '../../exchange/usage.ts'
import type { EmbeddingFormat } from '../../requests/embedding-request.ts'
import { type Failure, failureOfBadAnswer } from '../../upstream/failure.ts'
import type { EmbeddingsAdapter } from '../../upstream/provider-adapter.ts'
import { searchFor } from '../../upstream/secret-search.ts'
import { fieldsOf, type JsonObject } from '../../wire/json-fields.ts'

/** An embedding as the client gets it: a list of numbers, or base64. */
export type Embedding = readonly number[] | string

const float32Bytes = 4

/** A provider's response to one call. */
type BatchReading =
  | { readonly kind: 'answer'; readonly embeddings: readonly Embedding[]; readonly promptTokens: unknown }
  | { readonly kind: 'bad_answer'; readonly failure: Failure }

/**
 * The embeddings in a provider's answer of status 2xx, in the order of the inputs and in the client's format,
 * whatever the provider wrote. Never throws: less than `count` of them, or one that is none, is a bad answer, as is one
 * that spells out the provider's credential.
 */
export function readEmbeddings(
  adapter: EmbeddingsAdapter,
  text: string,
  asked: { readonly count: number; readonly format: EmbeddingFormat; readonly secrets: readonly string[] },
): BatchReading {
  const reading = adapter.read(text)
  if (reading.kind === 'failed') return { kind: 'bad_answer', failure: reading.failure }
  const given = reading.data.map(fieldsOf)
  if (given.length === 0) return bad('empty_answer')
  if (given.length !== asked.count) return bad('malformed_answer')
  const embeddings = inOrder(given).flatMap((item) => findEmbedding(item?.embedding, asked.format) ?? [])
  if (embeddings.length !== asked.count || areTelling(embeddings, asked.secrets))
    return bad('malformed_answer')
  return { kind: 'answer', embeddings, promptTokens: reading.promptTokens }
}

/**
 * The usage of all calls together; missing if one of them gave none, or the 0 of a server that does not
 * count.
 */
export function sumUsage(promptTokens: readonly unknown[]): UsageReading {
  let sum = 0
  for (const count of promptTokens) {
    if (count === undefined || count === null || count === 0) return { kind: 'missing' }
    if (!Number.isSafeInteger(count) || Number(count) < 0)
      return { kind: 'untrusted', why: 'prompt is not a valid count' }
    sum += Number(count)
  }
  return readUsage({ prompt_tokens: sum, completion_tokens: 0 })
}

/** The whole answer as JSON, with every field of OpenAI's schema. */
export function writeEmbeddings(answer: {
  readonly embeddings: readonly Embedding[]
  readonly model: string
  readonly promptTokens: number
}): string {
  const data = answer.embeddings.map((embedding, index) => ({ object: 'embedding', index, embedding }))
  const usage = { prompt_tokens: answer.promptTokens, total_tokens: answer.promptTokens }
  return JSON.stringify({ object: 'list', data, model: answer.model, usage })
}

/** By index, where the indexes are those of the inputs; some servers number otherwise, but none shuffles. */
function inOrder(given: readonly (JsonObject | undefined)[]): readonly (JsonObject | undefined)[] {
  const byIndex = new Map(given.map((item) => [item?.index, item]))
  const ordered = given.map((_, index) => byIndex.get(index))
  return ordered.every((item) => item !== undefined) ? ordered : given
}

/**
 * Wrapped in a list, because an embedding may be a list. A number that float32 cannot hold belongs to no
 * embedding.
 */
function findEmbedding(given: unknown, format: EmbeddingFormat): readonly [Embedding] | undefined {
  if (typeof given === 'string') {
    const numbers = findFloats(given)
    if (numbers === undefined || !areFinite(numbers)) return undefined
    return [format === 'base64' ? base64Of(numbers) : Array.from(numbers)]
  }
  if (!Array.isArray(given) || given.length === 0 || !areFinite(given)) return undefined
  if (format === 'float') return [given]
  const numbers = new Float32Array(given)
  return areFinite(numbers) ? [base64Of(numbers)] : undefined
}

/**
 * The float32s that a base64 text holds, or `undefined` when it is none; Node would just skip what is not base64.
 * Typed arrays are little-endian on every machine that we run on.
 */
function findFloats(text: string): Float32Array | undefined {
  const padding = text.endsWith('==') ? 2 : Number(text.endsWith('='))
  const bytesCount = Math.floor(((text.length - padding) * 3) / 4)
  if (bytesCount === 0 || bytesCount % float32Bytes !== 0) return undefined
  const numbers = new Float32Array(bytesCount / float32Bytes)
  return bytesOf(numbers).write(text, 'base64') === bytesCount ? numbers : undefined
}

/** Base64 can spell out any text, and without some of its characters it is another embedding. */
function areTelling(embeddings: readonly Embedding[], secrets: readonly string[]): boolean {
  const search = searchFor(secrets)
  return embeddings.some((text) => typeof text === 'string' && search?.find(text, 0) !== undefined)
}

/** A loop, because a large answer has millions of them; false for what is no number, too. */
function areFinite(values: ArrayLike<unknown>): boolean {
  for (let at = 0; at < values.length; at += 1) if (!Number.isFinite(values[at])) return false
  return true
}

function base64Of(numbers: Float32Array): string {
  return bytesOf(numbers).toString('base64')
}

function bytesOf({ buffer }: Float32Array): Buffer {
  return Buffer.from(buffer)
}

function bad(result: string): BatchReading {
  return { kind: 'bad_answer', failure: failureOfBadAnswer(result) }
}
