/** Names that something is remembered of; what was made first is forgotten first. */
const rememberedMax = 10_000

/** Makes what is missing; beyond 10,000 it forgets what was made first. */
export function createBoundedMap<Value>(make: () => Value) {
  const values = new Map<string, Value>()
  return {
    find: (name: string) => values.get(name),
    entries: () => values.entries(),
    replace: (name: string, value: Value) => values.set(name, value),
    delete: (name: string) => values.delete(name),
    get(name: string): Value {
      const known = values.get(name)
      if (known !== undefined) return known
      if (values.size >= rememberedMax) values.delete(values.keys().next().value ?? '')
      const made = make()
      values.set(name, made)
      return made
    },
  }
}
