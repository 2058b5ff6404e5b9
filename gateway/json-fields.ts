/** A JSON object whose fields nobody has checked yet. */
export type JsonObject = { readonly [field: string]: unknown }

/** The value as an object with unchecked fields, or `undefined` when it is none (an array is none). */
export function fieldsOf(value: unknown): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : undefined
}

/** The items of a JSON array, or none where there is no array. */
export function itemsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** What a JSON text says, or `undefined` when it is no JSON. */
export function findJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
