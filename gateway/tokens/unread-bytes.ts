import { itemsOf, type JsonObject } from '../wire/json-fields.ts'
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
 * Goes through the whole request, so it is used only if there is a price cap.
 */
export function unreadBytes(request: JsonObject): number {
  let bytes = 0
  for (const [name, value] of Object.entries(request)) if (!known.has(name)) bytes += jsonBytes(value)
  return itemsOf(request.messages).reduce((sum: number, message) => sum + unreadBytesOf(message), bytes)
}

function unreadBytesOf(message: unknown): number {
  const { texts } = readPrompt({ messages: [message] })
  const read = texts.reduce((sum, text) => sum + jsonBytes(text) + frameBytesPerText, frameBytesPerMessage)
  return Math.max(0, jsonBytes(message) - read)
}

function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? '')
}
