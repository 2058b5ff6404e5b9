import { type JsonObject, objectsIn } from './json-fields.ts'

const type = 'reasoning.encrypted'
/** OpenRouter's name for what OpenAI's Responses API encrypts. */
const format = 'openai-responses-v1'

/** The `encrypted_content` of an OpenAI item as one of a chat's `reasoning_details`. */
export function detailOfEncrypted(data: string): JsonObject {
  return { type, format, index: 0, data }
}

/** The `encrypted_content` that is among such details; `undefined`: there is none. */
export function encryptedInDetails(details: readonly unknown[]): string | undefined {
  return allEncryptedIn(details)[0]
}

/** Every one of them, in order. */
export function allEncryptedIn(details: readonly unknown[]): readonly string[] {
  return objectsIn(details).flatMap((detail) =>
    detail.type === type && detail.format === format && typeof detail.data === 'string' ? detail.data : [],
  )
}
