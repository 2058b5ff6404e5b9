import { type ModelProvider, quirksAnnotation, type SecretlessProviderSpec } from '#crds/model-provider'
import type { KeyList } from '../process/key-list.ts'
import { type ProviderDocument, type QuirksName, quirksNames } from './catalog-document.ts'
import { openCredential, sealCredential } from './credential-seal.ts'

type SecretKey = { readonly name: string; readonly key: string }

/** A provider whose secrets have not been looked up yet. */
export type ProviderDraft = {
  readonly document: Omit<ProviderDocument, 'auth'>
  /** The credential's place in a call, and where its value is; `null`: it needs none. */
  readonly credential: {
    readonly secretRef: SecretKey
    /** Lower case. */
    readonly header: string
    /** Before the value in the header: `Bearer ` is added by the gateway itself. */
    readonly prefix: string
  } | null
  /** Its own certificate authorities. */
  readonly caSecretRef: SecretKey | null
}

/** The problem of a resource, and its field. Never a value: it may be a secret. */
export type SpecProblem = { readonly path: readonly string[]; readonly problem: string }

/** What gateways add to a base URL for an operation. */
const operationPath =
  /(\/(?:chat\/completions|completions|embeddings|responses|messages)|\/models\/[^/?]+:\w+)\/*(?=\?|$)/
/** Headers that may name the folder of a YandexGPT provider. */
const folderHeaders = ['openai-project', 'x-folder-id']
/** Where Kubernetes keeps authorities in a Secret. */
const caKey = 'ca.crt'

/**
 * Translates a ModelProvider for the catalog, or returns the field that keeps it from being served, and why.
 * Pure.
 */
export function draftProvider({
  metadata,
  spec,
}: Pick<ModelProvider, 'metadata' | 'spec'>): { readonly draft: ProviderDraft } | SpecProblem {
  const [, operation] = operationPath.exec(spec.baseURL) ?? []
  if (operation !== undefined)
    return unserved(
      ['spec', 'baseURL'],
      `ends with ${operation}, which gateways add themselves: use ${spec.baseURL.replace(operationPath, '')}`,
    )
  const quirks = metadata.annotations?.[quirksAnnotation]
  const family = apiFamilyOf(spec.api)
  const known = quirksNames.filter((name) => apiOfKind(name) === family)
  if (quirks !== undefined && !isOneOf(known, quirks))
    return unserved(['metadata', 'annotations', quirksAnnotation], `must be one of ${known.join(', ')}`)
  const folder = spec.headers.find(({ name }) => folderHeaders.includes(name.toLowerCase()))?.value
  if (spec.api === 'YandexGPT' && folder === undefined)
    return unserved(['spec', 'headers'], 'must include OpenAI-Project with the ID of the YandexGPT folder')
  const { caSecretRef } = spec.tls
  return {
    draft: {
      document: {
        name: metadata.name,
        api: spec.api,
        ...(quirks === undefined ? {} : { quirks }),
        ...(folder === undefined ? {} : { template: { folder } }),
        baseUrl: spec.baseURL,
        headers: spec.headers,
        network: spec.network,
        ...(spec.country === undefined ? {} : { country: spec.country }),
        ...(spec.limits.requestsPerMinute === undefined
          ? {}
          : { requestsPerMinute: spec.limits.requestsPerMinute }),
        ...(spec.healthCheck.type === 'None' ? {} : { healthCheck: spec.healthCheck.type }),
      },
      credential: credentialOf(spec),
      caSecretRef: caSecretRef === undefined ? null : { name: caSecretRef.name, key: caKey },
    },
  }
}

/**
 * The same for a provider that no object of a cluster defines. `profile`: its compatibility profile. The draft refers to
 * no Secret that could be looked up.
 */
export function draftSecretlessProvider(
  name: string,
  profile: string | undefined,
  spec: SecretlessProviderSpec,
): ReturnType<typeof draftProvider> {
  const { auth } = spec
  return draftProvider({
    metadata: { name, ...(profile === undefined ? {} : { annotations: { [quirksAnnotation]: profile } }) },
    spec: {
      ...spec,
      auth: auth.type === 'None' ? auth : { ...auth, secretRef: { name: '', key: '' } },
      allowedRoutes: { namespaces: { from: 'Same' } },
      tls: {},
    },
  })
}

function unserved(path: readonly string[], problem: string): SpecProblem {
  return { path, problem }
}

function credentialOf({ api, auth }: ModelProvider['spec']): ProviderDraft['credential'] {
  switch (auth.type) {
    case 'None':
      return null
    case 'Bearer':
      return { secretRef: auth.secretRef, header: 'authorization', prefix: 'Bearer ' }
    case 'Header':
      return { secretRef: auth.secretRef, header: auth.headerName.toLowerCase(), prefix: '' }
    case 'ApiKey':
      return { secretRef: auth.secretRef, ...apiKeyPlaceOf(api) }
  }
}

/** Where an API expects its keys. */
function apiKeyPlaceOf(api: ModelProvider['spec']['api']): {
  readonly header: string
  readonly prefix: string
} {
  switch (api) {
    case 'AzureOpenAI':
      return { header: 'api-key', prefix: '' }
    case 'YandexGPT':
      return { header: 'authorization', prefix: 'Api-Key ' }
    case 'Anthropic':
      return { header: 'x-api-key', prefix: '' }
    case 'Gemini':
      return { header: 'x-goog-api-key', prefix: '' }
    default:
      return { header: 'authorization', prefix: 'Bearer ' }
  }
}

/**
 * The provider as it is stored, its credential encrypted. An encrypted value in `before` is kept if it holds
 * the same text under the first key. So the same input gives the same document, and older keys soon become
 * unused.
 *
 * @param secrets the values of the draft's references, which the caller has looked up.
 */
export function sealProvider(
  { document, credential }: ProviderDraft,
  secrets: { readonly credential: string | undefined; readonly caCertificates: string | undefined },
  sealingKeys: KeyList<Uint8Array>,
  before: ProviderDocument | undefined,
): ProviderDocument {
  const { caCertificates } = secrets
  const whole = { ...document, ...(caCertificates === undefined ? {} : { caCertificates }) }
  if (credential === null || secrets.credential === undefined) return { ...whole, auth: { type: 'None' } }
  const { header } = credential
  const isBearer = header === 'authorization' && credential.prefix === 'Bearer '
  const value = isBearer ? secrets.credential : `${credential.prefix}${secrets.credential}`
  const boundTo = { provider: document.name, baseUrl: document.baseUrl, header, caCertificates }
  const known = before === undefined || before.auth.type === 'None' ? '' : before.auth.sealed
  const isSame = openCredential(known, boundTo, [sealingKeys[0]]) === value
  const sealed = isSame ? known : sealCredential(value, boundTo, sealingKeys)
  return { ...whole, auth: isBearer ? { type: 'Bearer', sealed } : { type: 'Header', header, sealed } }
}

/** The spec of a ModelProvider for a stored provider, without references to Secrets. Pure. */
export function providerSpecOf({
  api,
  baseUrl,
  auth,
  headers,
  network = { http: false, privateAddresses: false },
  country,
  requestsPerMinute,
  healthCheck,
}: ProviderDocument): object {
  return {
    api,
    baseURL: baseUrl,
    network,
    auth: authSpecOf(api, auth),
    headers,
    country,
    limits: requestsPerMinute === undefined ? {} : { requestsPerMinute },
    healthCheck: { type: healthCheck ?? 'None' },
  }
}

function authSpecOf(api: ProviderDocument['api'], auth: ProviderDocument['auth']): object {
  if (auth.type !== 'Header') return { type: auth.type }
  return auth.header === apiKeyPlaceOf(api).header
    ? { type: 'ApiKey' }
    : { type: 'Header', headerName: auth.header }
}

/**
 * The provider with the credential that is stored for it, which need not be given again; `undefined`: it is bound to
 * another address, header or certificate authority, or there is none. An administrator who could move it could read it. Pure.
 */
export function keepCredential(
  { document, credential }: ProviderDraft,
  caCertificates: string | undefined,
  before: ProviderDocument | undefined,
): ProviderDocument | undefined {
  const whole = { ...document, ...(caCertificates === undefined ? {} : { caCertificates }) }
  if (credential === null) return { ...whole, auth: { type: 'None' } }
  if (before === undefined || before.auth.type === 'None') return undefined
  const { auth } = before
  const isBearer = credential.header === 'authorization' && credential.prefix === 'Bearer '
  const isBoundThere =
    before.baseUrl === document.baseUrl &&
    before.caCertificates === caCertificates &&
    (auth.type === 'Bearer' ? isBearer : !isBearer && auth.header === credential.header)
  return isBoundThere ? { ...whole, auth } : undefined
}

/** The API of a kind of provider. */
function apiOfKind(name: QuirksName): 'OpenAI' | 'Anthropic' | 'Gemini' {
  if (name.startsWith('anthropic')) return 'Anthropic'
  return name === 'gemini-native' ? 'Gemini' : 'OpenAI'
}

/** Most APIs are OpenAI's with differences. */
function apiFamilyOf(api: ProviderDocument['api']): ReturnType<typeof apiOfKind> {
  return api === 'Anthropic' || api === 'Gemini' ? api : 'OpenAI'
}

function isOneOf<Name extends string>(names: readonly Name[], text: string): text is Name {
  return (names as readonly string[]).includes(text)
}
