import type { JsonObject } from '../../../../wire/json-fields.ts'
import { mapObjects } from '../../../../wire/map-values.ts'

/** The client's own data: a field of this name in it is no mark. */
const dataFields: ReadonlySet<string> = new Set(['input', 'input_schema', 'text', 'data', 'thinking'])

/** A value whose marks for the cache have the usual lifetime, which the price covers; the very same value if they have. */
export function withShortCaches(value: unknown): unknown {
  return mapObjects(value, withShortMark, dataFields)
}

function withShortMark(fields: JsonObject): JsonObject {
  const { ttl, ...mark } = fields
  const isLong = ttl !== undefined && ttl !== null && ttl !== '5m'
  return mark.type === 'ephemeral' && isLong ? mark : fields
}
