import { type JsonObject, objectsIn } from './json-fields.ts'
import { isText, type Text } from './long-text.ts'
import { mapObjects } from './map-values.ts'

const type = 'reasoning.encrypted'
/** OpenRouter's name for what OpenAI's Responses API encrypts. */
const format = 'openai-responses-v1'

/** The `encrypted_content` of an OpenAI item as one of a chat's `reasoning_details`. */
export function detailOfEncrypted(data: string): JsonObject {
  return { type, format, index: 0, data }
}

/** Their schemas have fields of any name. */
const toolFields: ReadonlySet<string> = new Set(['tools', 'parameters'])

/**
 * A value in which each `encrypted_content`, wherever it is, has become what `map` makes of it; the very same value where it
 * has none.
 */
export function mapEncrypted(value: unknown, map: (data: Text) => unknown): unknown {
  const mapOwn = (fields: JsonObject) => {
    const { encrypted_content: data } = fields
    return isText(data) && data.length > 0 ? { ...fields, encrypted_content: map(data) } : fields
  }
  return mapObjects(value, mapOwn, toolFields)
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
