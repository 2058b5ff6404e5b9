import type { RouteDocument } from '#core/catalog/catalog-document'
import { createDialect } from '../upstream/dialect.ts'
import type { Backend, Provider, Route } from './route-table.ts'

/** Routes and backends for unit tests. */

const parameters = { drop: [], rename: {}, defaults: {} }

/** A backend of a separate provider. The provider has the backend's name by default. */
export function aBackend(
  name: string,
  priority: number,
  weight: number,
  fields: Partial<Provider> = {},
): Backend {
  const provider: Provider = {
    name,
    api: 'OpenAI',
    baseUrl: 'http://127.0.0.1',
    headers: {},
    secrets: [],
    access: { plainHttp: true, privateAddresses: true, caCertificates: undefined },
    requestsPerMinute: undefined,
    healthCheck: undefined,
    ...fields,
  }
  const dialect = createDialect(provider, 'm', {
    model: 'a/m',
    type: 'chat',
    parameters,
    maxOutputTokens: null,
  })
  return { name, provider, dialect, priority, weight }
}

/** The fields of a route's document that differ from `aRoute`. */
export type RouteFields = Partial<Omit<RouteDocument, 'backends'>>

/** A route that is by default a free chat model, open to all organizations. */
export function aRoute(
  model: string,
  { backends = [], ...fields }: RouteFields & { readonly backends?: readonly Backend[] } = {},
): Route {
  const document: RouteDocument = {
    model,
    type: 'chat',
    displayName: model,
    description: '',
    inputModalities: ['text'],
    createdAtS: 0,
    contextLength: null,
    maxOutputTokens: null,
    hiddenReasoning: true,
    defaultOutputTokens: 4096,
    backends: [],
    fallbacks: [],
    timeouts: { requestMs: 1, firstByteMs: 1, streamIdleMs: 1 },
    attempts: 1,
    parameters,
    price: null,
    organizations: null,
    ...fields,
  }
  return { document, backends }
}
