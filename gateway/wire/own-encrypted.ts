import { fieldsOf, type JsonObject, objectsIn } from './json-fields.ts'
import { isText, type Text } from './long-text.ts'

const type = 'reasoning.encrypted'
/** OpenRouter's name for what OpenAI's Responses API encrypts. */
const format = 'openai-responses-v1'

/** The `encrypted_content` of an OpenAI item as one of a chat's `reasoning_details`. */
export function detailOfEncrypted(data: string): JsonObject {
  return { type, format, index: 0, data }
}

const field = 'encrypted_content'
/** Their schemas have fields of any name. */
const toolFields: ReadonlySet<string> = new Set(['tools', 'parameters'])

/**
 * A value in which each `encrypted_content`, wherever it is, has become what `map` makes of it; the very same value where it
 * has none. As deep as the value, which its reader has bounded.
 */
export function mapEncrypted(value: unknown, map: (data: Text) => unknown): unknown {
  if (Array.isArray(value)) {
    const mapped = value.map((item) => mapEncrypted(item, map))
    return mapped.some((item, at) => item !== value[at]) ? mapped : value
  }
  const fields = fieldsOf(value)
  if (fields === undefined) return value
  let changed: Record<string, unknown> | undefined
  for (const name of Object.keys(fields)) {
    const given = fields[name]
    const mapped =
      name === field && isText(given) && given.length > 0 ? map(given) : innerOf(name, given, map)
    if (mapped === given) continue
    changed ??= { ...fields }
    changed[name] = mapped
  }
  return changed ?? value
}

function innerOf(name: string, given: unknown, map: (data: Text) => unknown): unknown {
  return typeof given !== 'object' || given === null || toolFields.has(name)
    ? given
    : mapEncrypted(given, map)
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
