import { fieldsOf } from '../../../../wire/json-fields.ts'

/** The client's own data: a field of this name in it is no mark. */
const dataFields: ReadonlySet<string> = new Set(['input', 'input_schema', 'text', 'data', 'thinking'])

/**
 * A value whose marks for the cache have the usual lifetime, which the price covers; the very same value if they have. As deep as
 * the value, which its reader has bounded.
 */
export function withShortCaches(value: unknown): unknown {
  if (Array.isArray(value)) {
    const short = value.map(withShortCaches)
    return short.some((item, at) => item !== value[at]) ? short : value
  }
  const fields = fieldsOf(value)
  if (fields === undefined) return value
  if (fields.type === 'ephemeral' && isLong(fields.ttl)) {
    const { ttl, ...mark } = fields
    return mark
  }
  let changed: Record<string, unknown> | undefined
  for (const name of Object.keys(fields)) {
    if (dataFields.has(name) || typeof fields[name] !== 'object') continue
    const short = withShortCaches(fields[name])
    if (short === fields[name]) continue
    changed ??= { ...fields }
    changed[name] = short
  }
  return changed ?? value
}

function isLong(ttl: unknown): boolean {
  return ttl !== undefined && ttl !== null && ttl !== '5m'
}
