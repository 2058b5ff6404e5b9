import type { JsonObject } from '../wire/json-fields.ts'
import { namesShown } from '../wire/openai-parameters.ts'
import { applyRoute, renameField } from './internal/route-parameters.ts'
import type { Dialect } from './provider-adapter.ts'

/** Set separately: the caller does not decide by itself what to embed and in which format. */
const own: ReadonlySet<string> = new Set(['model', 'input', 'encoding_format'])

/**
 * One call's request for embeddings: the route's parameter rules, then those of the provider's row, both by OpenAI's
 * names; then its adapter writes it.
 */
export function adaptEmbeddingRequest(request: {
  readonly body: JsonObject
  readonly items: readonly unknown[]
  readonly format: 'float' | 'base64'
  readonly dialect: Dialect
}): JsonObject {
  const { body, items, format, dialect } = request
  const { fields } = adapt(body, dialect)
  return dialect.adapter.embeddings.write({ fields, items, format, dialect })
}

/** Parameters that `adaptEmbeddingRequest` would drop of a request, as `namesShown` names them. */
export function findDroppedOfEmbedding(body: JsonObject, dialect: Dialect): readonly string[] {
  return adapt(body, dialect).dropped
}

function adapt(
  body: JsonObject,
  { route, quirks }: Dialect,
): { readonly fields: Map<string, unknown>; readonly dropped: readonly string[] } {
  const dropped = new Set<string>()
  const sent = Object.entries(body).filter(([name]) => !own.has(name))
  const { fields } = applyRoute(sent, route, dropped)
  for (const name of fields.keys())
    if (!route.own.has(name) && isUnwanted(name, quirks)) {
      fields.delete(name)
      dropped.add(name)
    }
  for (const [from, to] of Object.entries(quirks.embeddings.rename ?? {}))
    renameField(fields, from, to, dropped)
  return { fields, dropped: namesShown([...dropped]) }
}

function isUnwanted(name: string, { embeddings, unwanted }: Dialect['quirks']): boolean {
  return embeddings.allow?.includes(name) === false || unwanted.has(name)
}
