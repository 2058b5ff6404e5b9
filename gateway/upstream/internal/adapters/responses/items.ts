import { type JsonObject, objectsIn } from '../../../../wire/json-fields.ts'
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

/** The addresses that a message cites, as a chat has them; `undefined`: none. */
export function citationsIn(items: readonly JsonObject[]): readonly JsonObject[] | undefined {
  const citations = items
    .filter(({ type }) => type === 'message')
    .flatMap(({ content }) => objectsIn(content))
    .flatMap(({ annotations }) => objectsIn(annotations))
    .flatMap(({ type, ...citation }) => (type === 'url_citation' ? { type, url_citation: citation } : []))
  return citations.length === 0 ? undefined : citations
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
