import type { JsonObject } from '../json-fields.ts'
import type { Dialect } from './dialect.ts'
import { namesShown } from './openai-parameters.ts'

/** Named apart: what to embed and how to write it is not the caller's word alone. */
const own: ReadonlySet<string> = new Set(['model', 'input', 'encoding_format'])

/**
 * One call's request for embeddings as an OpenAI-wire provider gets it: the route's parameter rules, then those of
 * the provider's kind.
 *
 * One item goes as it is, not in a list: every provider takes that. `float` is asked for wherever base64 is unknown.
 */
export function writeEmbeddingRequest(request: {
  readonly body: JsonObject
  readonly items: readonly unknown[]
  readonly format: 'float' | 'base64'
  readonly dialect: Dialect
}): Buffer {
  const { body, items, format, dialect } = request
  const { fields } = adapt(body, dialect)
  fields.set('model', dialect.model)
  fields.set('input', items.length === 1 ? items[0] : items)
  if (!dialect.route.drop.has('encoding_format'))
    fields.set('encoding_format', dialect.quirks.embeddings.format === 'both' ? format : 'float')
  return Buffer.from(JSON.stringify(Object.fromEntries(fields)))
}

/** What `writeEmbeddingRequest` would drop of a request, as `namesShown` names it. */
export function findDroppedOfEmbedding(body: JsonObject, dialect: Dialect): readonly string[] {
  return adapt(body, dialect).dropped
}

function adapt(
  body: JsonObject,
  { route, quirks }: Dialect,
): { readonly fields: Map<string, unknown>; readonly dropped: readonly string[] } {
  const dropped: string[] = []
  const fields = new Map<string, unknown>()
  for (const [name, value] of Object.entries(body)) {
    if (value === null || value === undefined || own.has(name)) continue
    if (route.drop.has(name)) dropped.push(name)
    else fields.set(name, value)
  }
  for (const [from, to] of route.rename) {
    if (!fields.has(from)) continue
    if (!fields.has(to)) fields.set(to, fields.get(from))
    fields.delete(from)
  }
  for (const [name, value] of route.defaults) if (!fields.has(name)) fields.set(name, value)
  for (const name of fields.keys())
    if (!route.own.has(name) && isUnwanted(name, quirks)) {
      fields.delete(name)
      dropped.push(name)
    }
  return { fields, dropped: namesShown(dropped) }
}

function isUnwanted(name: string, { embeddings, allowed, unwanted }: Dialect['quirks']): boolean {
  if (name === 'dimensions') return embeddings.dimensions === 'no'
  return allowed?.has(name) === false || unwanted.has(name)
}
