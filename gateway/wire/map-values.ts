import { fieldsOf, type JsonObject } from './json-fields.ts'

/** Maps each item; returns the very same list if every item is unchanged. */
export function mapItems(list: readonly unknown[], adapt: (item: unknown) => unknown): readonly unknown[] {
  const adapted = list.map(adapt)
  return adapted.some((item, at) => item !== list[at]) ? adapted : list
}

/**
 * A value in which each object, wherever it is, has become what `map` makes of it; the very same value where all are
 * unchanged. As deep as the value, which its reader has bounded.
 *
 * @param skipped fields whose values stay as they are.
 */
export function mapObjects(
  value: unknown,
  map: (fields: JsonObject) => JsonObject,
  skipped: ReadonlySet<string>,
): unknown {
  if (Array.isArray(value)) return mapItems(value, (item) => mapObjects(item, map, skipped))
  const given = fieldsOf(value)
  if (given === undefined) return value
  const mapped = map(given)
  let changed: Record<string, unknown> | undefined
  for (const name of Object.keys(mapped)) {
    const inner = mapped[name]
    if (typeof inner !== 'object' || inner === null || skipped.has(name)) continue
    const own = mapObjects(inner, map, skipped)
    if (own === inner) continue
    changed ??= { ...mapped }
    changed[name] = own
  }
  return changed ?? mapped
}
