import { randomUUID } from 'node:crypto'
import { type RouteDocumentJson, signDocument } from '#core/catalog/catalog-document'

/** A route of the catalog as Redis has it: to the provider `demo`, for a price, unless `changes` say otherwise. */
export function signedRoute(
  model: string,
  { revision, signingKey }: { readonly revision: bigint; readonly signingKey: string },
  changes: Partial<RouteDocumentJson> = {},
): [name: string, signed: string] {
  const document: RouteDocumentJson = {
    model,
    type: 'chat',
    displayName: model,
    description: '',
    createdAtS: 0,
    contextLength: 128_000,
    maxOutputTokens: null,
    defaultOutputTokens: 100,
    backends: [{ name: 'main', provider: 'demo', model, priority: 0, weight: 1 }],
    fallbacks: [],
    timeouts: { requestMs: 10_000, firstByteMs: 5000, streamIdleMs: 5000 },
    attempts: 1,
    parameters: { drop: [], rename: {}, defaults: {} },
    price: {
      id: randomUUID(),
      input: '1000',
      cachedInput: null,
      cacheWrite: null,
      output: '2000',
      reasoning: null,
      perRequest: '0',
    },
    organizations: null,
    ...changes,
  }
  return [`route:${model}`, signDocument(JSON.stringify(document), String(revision), [signingKey])]
}
