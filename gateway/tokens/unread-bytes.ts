import { itemsOf, type JsonObject } from '../wire/json-fields.ts'
import { jsonPieces } from '../wire/json-writer.ts'
import { openAiParameters } from '../wire/openai-parameters.ts'
import { readPrompt } from './token-estimate.ts'

/** Parameters of which an estimate knows what they mean; `messages` are looked into. */
const known: ReadonlySet<string> = new Set([...openAiParameters, 'model', 'messages', 'stream'])

/** Names, roles, ids and punctuation around a message, and around each text of it: an ordinary request has no more. */
const frameBytesPerMessage = 128
const frameBytesPerText = 64

/**
 * Bytes of a chat request that a model may read in addition to what an estimate of its prompt has read: fields of a provider's
 * own (`documents`), files, sound, images, whatever else messages carry. A byte is at most one token of a prompt. What
 * a link only points at has no bytes here.
 *
 * Goes through the whole request, in steps of less than a millisecond, so it is used only if there is a price cap.
 */
export function* unreadBytes(request: JsonObject): Generator<undefined, number> {
  let bytes = 0
  for (const [name, value] of Object.entries(request)) if (!known.has(name)) bytes += yield* jsonBytes(value)
  for (const message of itemsOf(request.messages)) bytes += yield* unreadBytesOf(message)
  return bytes
}

function* unreadBytesOf(message: unknown): Generator<undefined, number> {
  const { texts } = readPrompt({ messages: [message] })
  let read = frameBytesPerMessage
  for (const text of texts) read += (yield* jsonBytes(text)) + frameBytesPerText
  return Math.max(0, (yield* jsonBytes(message)) - read)
}

function* jsonBytes(value: unknown): Generator<undefined, number> {
  let bytes = 0
  for (const piece of jsonPieces(value)) {
    bytes += Buffer.byteLength(piece)
    yield
  }
  return bytes
}
