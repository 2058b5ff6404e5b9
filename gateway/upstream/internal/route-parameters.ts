import type { Dialect } from '../dialect.ts'
import type { Fields } from './openai-tools.ts'

/**
 * A request's parameters under its route's rules: some are dropped, then some renamed, then absent ones filled in. A
 * null means absent, as with OpenAI: others refuse it. What the caller says under any of a parameter's names
 * leaves no default to the others. A level of service that costs more is the route's alone to ask for.
 *
 * What the caller sent and what goes no further is added to `dropped`, by the name it was sent under. `filledIn` are
 * the names that only the route has a value for.
 */
export function applyRoute(
  sent: readonly (readonly [name: string, value: unknown])[],
  { drop, rename, defaults }: Dialect['route'],
  dropped: Set<string>,
): { readonly fields: Fields; readonly filledIn: readonly string[] } {
  const fields: Fields = new Map()
  for (const [name, value] of sent) {
    if (value === null || value === undefined) continue
    if (drop.has(name) || isDearerService(name, value)) dropped.add(name)
    else fields.set(name, value)
  }
  for (const [from, to] of rename) renameField(fields, from, to, dropped)
  const unsaid = defaults.filter(({ saidAs }) => !saidAs.some((name) => fields.has(name)))
  for (const { name, value } of unsaid) fields.set(name, value)
  return { fields, filledIn: unsaid.map(({ name }) => name).filter((name) => !dropped.has(name)) }
}

/** Levels of service that cost no more than the usual one, `on_demand` at Groq, whoever sells them; `flex` costs less. */
const usualTiers: ReadonlySet<unknown> = new Set(['auto', 'default', 'on_demand', 'flex'])

/** What a provider would charge us more for than the model's price says: only a route may ask for it. */
function isDearerService(name: string, value: unknown): boolean {
  return name === 'service_tier' && !usualTiers.has(value)
}

/** Gives way to what is there under the new name; a value that is lost so is added to `dropped`. */
export function renameField(fields: Fields, from: string, to: string, dropped: Set<string>): void {
  if (!fields.has(from)) return
  const value = fields.get(from)
  fields.delete(from)
  if (!fields.has(to)) fields.set(to, value)
  else if (fields.get(to) !== value) dropped.add(from)
}
