/** Longest name of a key. */
export const nameLengthMax = 253

/**
 * The first of `name 2`, `name 3`, … that no key has; `undefined`: the name itself is free. Case does not distinguish names.
 * Pure.
 */
export function suggestName(name: string, taken: readonly string[]): string | undefined {
  const all = new Set(taken.map((one) => one.toLowerCase()))
  if (!all.has(name.toLowerCase())) return undefined
  for (let number = 2; ; number++) {
    const suffix = ` ${number}`
    const suggestion = `${name.slice(0, nameLengthMax - suffix.length).toWellFormed()}${suffix}`
    if (!all.has(suggestion.toLowerCase())) return suggestion
  }
}
