import { findUsage, readUsage, type UsageBounds, type UsageReading } from '../exchange/usage.ts'
import { fieldsOf, findJson, itemsOf, type JsonObject } from '../json-fields.ts'
import { type Failure, failureOfBadAnswer, failureOfErrorBody, isErrorBody } from '../upstream/failure.ts'
import type { EmbeddingFormat } from './embedding-request.ts'

/** An embedding as the client gets it: a list of numbers, or base64. */
export type Embedding = readonly number[] | string

const float32Bytes = 4

/** What a provider answered to one call. */
type BatchReading =
  | { readonly kind: 'answer'; readonly embeddings: readonly Embedding[]; readonly promptTokens: unknown }
  | { readonly kind: 'bad_answer'; readonly failure: Failure }

/**
 * The embeddings in a provider's answer of status 2xx, in the order of the inputs and in the client's format,
 * whatever the provider wrote. Never throws: less than `count` of them, or one that is none, is a bad answer.
 */
export function readEmbeddings(
  text: string,
  asked: { readonly count: number; readonly format: EmbeddingFormat },
): BatchReading {
  const body = findJson(text)
  if (isErrorBody(body)) return { kind: 'bad_answer', failure: failureOfErrorBody(body, 'error_in_answer') }
  const answer = fieldsOf(body)
  if (answer === undefined) return bad('malformed_answer')
  const given = itemsOf(answer.data).map(fieldsOf)
  if (given.length === 0) return bad('empty_answer')
  if (given.length !== asked.count) return bad('malformed_answer')
  const embeddings = inOrder(given).flatMap((item) => findEmbedding(item?.embedding, asked.format) ?? [])
  if (embeddings.length !== asked.count) return bad('malformed_answer')
  const usage = fieldsOf(findUsage(answer))
  return { kind: 'answer', embeddings, promptTokens: usage?.prompt_tokens ?? usage?.total_tokens }
}

/** The usage of all calls together; missing where one of them gave none. */
export function sumUsage(promptTokens: readonly unknown[], bounds: UsageBounds): UsageReading {
  let sum = 0
  for (const count of promptTokens) {
    if (count === undefined || count === null) return { kind: 'missing' }
    if (!Number.isSafeInteger(count) || Number(count) < 0)
      return { kind: 'untrusted', why: 'prompt is no count' }
    sum += Number(count)
  }
  return readUsage({ prompt_tokens: sum, completion_tokens: 0 }, bounds)
}

/** The whole answer as JSON, every field of `reference/wire.md` §1.4. */
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

/** In a list of its own, because an embedding may be a list. */
function findEmbedding(given: unknown, format: EmbeddingFormat): readonly [Embedding] | undefined {
  if (typeof given === 'string') {
    const bytes = findBytes(given)
    return bytes && (format === 'base64' ? [bytes.toString('base64')] : floatsOf(bytes))
  }
  if (!Array.isArray(given) || given.length === 0 || !given.every(Number.isFinite)) return undefined
  return [format === 'float' ? given : base64Of(given)]
}

/** The float32s that a base64 text holds, or `undefined` when it is none; Node would just skip what is not base64. */
function findBytes(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64')
  const isWhole = bytes.length === Math.floor((text.replace(/=+$/, '').length * 3) / 4)
  return isWhole && bytes.length > 0 && bytes.length % float32Bytes === 0 ? bytes : undefined
}

function floatsOf(bytes: Buffer): readonly [Embedding] | undefined {
  const numbers = Array.from({ length: bytes.length / float32Bytes }, (_, at) =>
    bytes.readFloatLE(float32Bytes * at),
  )
  return numbers.every(Number.isFinite) ? [numbers] : undefined
}

/** Typed arrays are little-endian on every machine that we run on. */
function base64Of(numbers: readonly number[]): string {
  return Buffer.from(Float32Array.from(numbers).buffer).toString('base64')
}

function bad(result: string): BatchReading {
  return { kind: 'bad_answer', failure: failureOfBadAnswer(result) }
}
