/** What a JSON text says, or `undefined` when it is no JSON. */
export function findJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
