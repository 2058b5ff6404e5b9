import type { Dialect } from '../provider-adapter.ts'
import type { Fields } from './openai-tools.ts'

/**
 * A request's parameters under its route's rules: some are dropped, then some renamed, then absent ones
 * filled in. A null means absent, as with OpenAI; other providers reject it. A caller's value under any of a
 * parameter's names prevents the defaults of the others. Only the route may request a more expensive service
 * tier.
 *
 * Parameters that the caller sent and that are not passed on are added to `dropped`, by the name they were
 * sent under. `filledIn` are the names that only the route has a value for.
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

/**
 * Service tiers that cost no more than the usual one (`on_demand` at Groq), at any provider; `flex` costs
 * less.
 */
const usualTiers: ReadonlySet<unknown> = new Set(['auto', 'default', 'on_demand', 'flex'])

/** A service tier above the model's price: only a route may request it. */
export function isDearerService(name: string, value: unknown): boolean {
  return name === 'service_tier' && !usualTiers.has(value)
}

/** Keeps an existing value under the new name; a value that is lost this way is added to `dropped`. */
export function renameField(fields: Fields, from: string, to: string, dropped: Set<string>): void {
  if (!fields.has(from)) return
  const value = fields.get(from)
  fields.delete(from)
  if (!fields.has(to)) fields.set(to, value)
  else if (fields.get(to) !== value) dropped.add(from)
}
