/** An object after a JSON merge patch, RFC 7396, as the API server applies it. For proofs. */
export function mergePatched<Target extends object>(target: Target, patch: object): Target {
  const merged: Record<string, unknown> = Object.fromEntries(Object.entries(target))
  for (const [name, value] of Object.entries(patch)) {
    const before = merged[name]
    if (value === null) delete merged[name]
    else if (isPlain(value)) merged[name] = mergePatched(isPlain(before) ? before : {}, value)
    else merged[name] = value
  }
  return merged as Target
}

function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
