import {
  findSignedJson,
  type ProviderDocument,
  providerDocumentSchema,
  type RouteDocument,
  routeDocumentSchema,
} from '#core/catalog/catalog-document'
import { openCredential } from '#core/catalog/credential-seal'
import { areCertificates, areSendable, isOfConnection } from '#core/catalog/provider-checks'
import type { KeyList } from '#core/process/key-list'
import { createDialect, kindHeadersOf, kindOf } from '../upstream/dialect.ts'
import { findJson } from '../wire/json-fields.ts'
import { type Backend, createRouteTable, type Provider, type Route, type RouteTable } from './route-table.ts'

export type CatalogKeys = {
  readonly signingKeys: KeyList<string>
  /** 32 bytes each, for the credentials of providers. */
  readonly sealingKeys: KeyList<Uint8Array>
}

/** Documents as stored in Redis: `route:<model>` and `provider:<name>` → signed text. */
export type SignedDocuments = Readonly<Record<string, string>>

/**
 * Reads catalogs, one revision after the other; only documents that changed are parsed again. All of them are
 * checked: each publication signs every document for its own revision.
 *
 * A document whose signature, schema, name or credential is wrong is left out, without effect on the rest. If
 * no document can be used there is no table: this gateway has other keys than the worker, and no models.
 *
 * @param onRejected called once for each wrong document with its name and the reason, never its content.
 */
export function createRouteTableReader(
  keys: CatalogKeys,
  onRejected: (name: string, why: string) => void,
): (revision: string, documents: SignedDocuments) => RouteTable | undefined {
  const check = (signed: string, revision: string) => findSignedJson(signed, revision, keys.signingKeys)
  const readRoutes = readChanged('route:', check, parseRoute, onRejected)
  const readProviders = readChanged(
    'provider:',
    check,
    (name, json) => parseProvider(name, json, keys.sealingKeys),
    onRejected,
  )
  return (revision, documents) => {
    const providers = new Map(readProviders(revision, documents).map((provider) => [provider.name, provider]))
    const routes = readRoutes(revision, documents).map((document) => routeOf(document, providers))
    if (providers.size + routes.length === 0 && Object.keys(documents).length > 0) return undefined
    return createRouteTable(revision, routes, [...providers.values()])
  }
}

const unsigned = {
  why: 'invalid signature: the document must be signed for this revision with a key of ROUTES_SIGNING_KEY',
}
const wrongName = 'the document is for another name'
const wrongCredential =
  'the credential cannot be decrypted: CREDENTIALS_KEY must contain the key that encrypted it'

/** A parsed document, or why it cannot be used. */
type Parsed<Document> = { readonly document: Document } | { readonly why: string }

/** Parses the documents of one kind, remembering those that stayed the same. */
function readChanged<Document>(
  prefix: string,
  check: (signed: string, revision: string) => string | undefined,
  parse: (name: string, json: string) => Parsed<Document>,
  onRejected: (name: string, why: string) => void,
): (revision: string, documents: SignedDocuments) => Document[] {
  let known = new Map<string, { readonly json: string | undefined; readonly parsed: Parsed<Document> }>()
  const parseChecked = (name: string, json: string | undefined) =>
    json === undefined ? unsigned : parse(name.slice(prefix.length), json)
  return (revision, documents) => {
    const next: typeof known = new Map()
    for (const [name, signed] of Object.entries(documents)) {
      if (!name.startsWith(prefix)) continue
      const before = known.get(name)
      const json = check(signed, revision)
      const parsed = before !== undefined && before.json === json ? before.parsed : parseChecked(name, json)
      if (parsed !== before?.parsed && 'why' in parsed) onRejected(name, parsed.why)
      next.set(name, { json, parsed })
    }
    known = next
    return [...next.values()].flatMap(({ parsed }) => ('document' in parsed ? [parsed.document] : []))
  }
}

function parseRoute(model: string, json: string): Parsed<RouteDocument> {
  const parsed = routeDocumentSchema.safeParse(findJson(json))
  if (!parsed.success) return { why: wrongField(parsed.error.issues[0]?.path) }
  return parsed.data.model === model ? { document: parsed.data } : { why: wrongName }
}

function parseProvider(name: string, json: string, sealingKeys: KeyList<Uint8Array>): Parsed<Provider> {
  const parsed = providerDocumentSchema.safeParse(findJson(json))
  if (!parsed.success) return { why: wrongField(parsed.error.issues[0]?.path) }
  if (parsed.data.name !== name) return { why: wrongName }
  const opened = openHeaders(parsed.data, sealingKeys)
  if (opened === undefined) return { why: wrongCredential }
  if (!areSendable(opened.headers)) return { why: 'a header cannot be sent over HTTP' }
  if (parsed.data.caCertificates !== undefined && !areCertificates(parsed.data.caCertificates))
    return { why: wrongField(['caCertificates']) }
  const { api, baseUrl, template, requestsPerMinute, healthCheck, network, caCertificates } = parsed.data
  const quirks = kindOf(parsed.data) // found out once, not for each route
  const access = {
    plainHttp: network?.http ?? false,
    privateAddresses: network?.privateAddresses ?? false,
    caCertificates,
  }
  const told = { name, api, baseUrl, quirks, template, requestsPerMinute, healthCheck }
  return { document: { ...told, ...opened, access } }
}

type Opened = Pick<Provider, 'headers' | 'secrets'>

/** The headers of every call of a provider, or `undefined` when its credential does not open. */
function openHeaders(document: ProviderDocument, sealingKeys: KeyList<Uint8Array>): Opened | undefined {
  const { name, baseUrl, auth, headers, caCertificates } = document
  const own = headers
    .map((header) => [header.name.toLowerCase(), header.value] as const)
    .filter(([header]) => !isOfConnection(header))
  const plain = { ...kindHeadersOf(document), ...Object.fromEntries(own) }
  if (auth.type === 'None') return { headers: plain, secrets: [] }
  const header = auth.type === 'Bearer' ? 'authorization' : auth.header.toLowerCase()
  const boundTo = { provider: name, baseUrl, header, caCertificates }
  const credential = openCredential(auth.sealed, boundTo, sealingKeys)
  if (credential === undefined || isOfConnection(header)) return undefined
  const value = auth.type === 'Bearer' ? `Bearer ${credential}` : credential
  const secrets = new Set([credential, credential.split(' ').at(-1) ?? ''])
  secrets.delete('')
  return { headers: { ...plain, [header]: value }, secrets: [...secrets] }
}

function routeOf(document: RouteDocument, providers: ReadonlyMap<string, Provider>): Route {
  const backends = document.backends.flatMap(({ provider: providerName, model, ...backend }): Backend[] => {
    const provider = providers.get(providerName)
    if (provider === undefined || backend.weight === 0) return []
    return [{ ...backend, provider, dialect: createDialect(provider, model, document) }]
  })
  return { document, backends }
}

/** Names a field of the schema, never its value: that may be a secret. */
function wrongField(path: readonly PropertyKey[] | undefined): string {
  const field = path?.map(String).join('.')
  return field ? `invalid field: ${field}` : 'the document is not an object'
}
