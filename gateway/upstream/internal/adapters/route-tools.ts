import { fieldsOf, itemsOf } from '../../../wire/json-fields.ts'
import type { Dialect } from '../../provider-adapter.ts'

/** The types of tools that the route itself requests: its callers may use them, too. */
export function allowedToolsOf({ route }: Dialect): ReadonlySet<unknown> {
  const own = route.defaults.filter(({ name }) => name === 'tools')
  return new Set(own.flatMap(({ value }) => itemsOf(value)).map((tool) => fieldsOf(tool)?.type))
}
