/** The value of a JSON text, or `undefined` when it is no JSON. */
export function findJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
