export type NamedKey = { readonly id: string; readonly name: string }

/** The label of each key by id: its name, with the beginning of the id if other keys have the same name. Pure. */
export function keyLabels(keys: readonly NamedKey[]): ReadonlyMap<string, string> {
  const counts = new Map<string, number>()
  for (const { name } of keys) counts.set(name, (counts.get(name) ?? 0) + 1)
  return new Map(
    keys.map(({ id, name }) => [id, counts.get(name) === 1 ? name : `${name} (${id.slice(0, 8)})`]),
  )
}

/** The key that a text means: the only match, or the only one with exactly that name. Pure. */
export function findKey(keys: readonly NamedKey[], text: string): NamedKey | undefined {
  const exact = keys.filter(({ name }) => name.toLowerCase() === text.toLowerCase())
  const meant = exact.length > 0 ? exact : keys
  return meant.length === 1 ? meant[0] : undefined
}
