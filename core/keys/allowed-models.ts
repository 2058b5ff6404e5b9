/** Whether a key's list, of names and `provider/*`, has this model; `null` has all. */
export function mayUse(allowedModels: readonly string[] | null, model: string): boolean {
  return allowedModels === null || allowedModels.some((entry) => covers(entry, model))
}

/** Whether an entry of such a list, a name or `provider/*`, has this model, or all that another entry has. */
export function covers(entry: string, model: string): boolean {
  return entry.endsWith('/*') ? model.startsWith(entry.slice(0, -1)) : entry === model
}
