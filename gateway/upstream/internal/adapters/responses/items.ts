import type { JsonObject } from '../../../../wire/json-fields.ts'
import { detailOfEncrypted } from '../../../../wire/own-encrypted.ts'

/** Facts about a call that its response is read with. */
export type ResponsesReading = {
  /** Tools that the provider may run. */
  readonly allowed: ReadonlySet<string>
  /** The mark of what its provider encrypts. */
  readonly origin: string
}

/** Reasoning that only the provider can read, as one of a chat's details; `undefined`: the item has none. */
export function hiddenDetailOf(
  { encrypted_content: data }: JsonObject,
  origin: string,
  index: number,
): JsonObject | undefined {
  return typeof data === 'string' && data !== '' ? { ...detailOfEncrypted(data), origin, index } : undefined
}

/** Whether an item is a call with free text in place of arguments. */
export function isCustomCall({ type }: JsonObject): boolean {
  return type === 'custom_tool_call'
}

/** The item of a call as a chat has it. @param written so far. */
export function namedCall(item: JsonObject, written: unknown): JsonObject {
  const { call_id: id, name } = item
  return isCustomCall(item)
    ? { id, type: 'custom', custom: { name, input: written } }
    : { id, type: 'function', function: { name, arguments: written } }
}
