import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { priceSchema } from '../ledger/price.ts'
import type { KeyList } from '../process/key-list.ts'

const name = z.string().min(1).max(253)

/**
 * Kinds of providers with known differences from OpenAI's API, or with another API: rows of
 * `gateway/upstream/internal/provider-rows.ts`. `generic` is any other one: it receives the caller's request
 * unchanged. `openai-responses` has no chat completions. `gemini` is Google's compatible endpoint, `gemini-native` its own API. A version of Anthropic's API is in the
 * name of its row.
 */
export const quirksNames = [
  'generic',
  'openai',
  'openai-responses',
  'azure',
  'azure-deployments',
  'mistral',
  'deepseek',
  'xai',
  'groq',
  'together',
  'openrouter',
  'fireworks',
  'cerebras',
  'vllm',
  'sglang',
  'tgi',
  'ollama',
  'lmstudio',
  'yandexgpt',
  'dashscope',
  'moonshot',
  'zhipu',
  'cohere',
  'gemini',
  'gemini-native',
  'anthropic',
  'anthropic-2026-10-21',
] as const

export type QuirksName = (typeof quirksNames)[number]

/** A provider as the gateway sees it. Credentials are encrypted (`credential-seal.ts`). */
export const providerDocumentSchema = z.object({
  name,
  api: z.enum(['OpenAI', 'AzureOpenAI', 'YandexGPT', 'Anthropic', 'Gemini']),
  /** Its row of differences; absent: the one of its api, else of its host, else `generic`. */
  quirks: z.enum(quirksNames).optional(),
  /** Values for the places in its row's templates: `folder` of YandexGPT. */
  template: z.record(z.string().max(64), z.string().max(253)).optional(),
  baseUrl: z.url({ protocol: /^https?$/ }),
  auth: z.discriminatedUnion('type', [
    z.object({ type: z.literal('None') }),
    z.object({ type: z.literal('Bearer'), sealed: z.string() }),
    z.object({ type: z.literal('Header'), header: z.string(), sealed: z.string() }),
  ]),
  headers: z.array(z.object({ name: z.string(), value: z.string() })).max(32),
  /** The addresses that it may use; absent: only public addresses over TLS. */
  network: z.object({ http: z.boolean(), privateAddresses: z.boolean() }).optional(),
  /** Of the whole installation; absent: none. */
  requestsPerMinute: z.int().positive().optional(),
  /** Where it processes requests, as in ISO 3166-1 alpha-2, for users who choose a model; absent: unknown. */
  country: z.string().max(64).optional(),
  /** How gateways check it without a request; absent: not at all. */
  healthCheck: z.literal('ListModels').optional(),
  /** PEM of the authorities to trust in addition to the usual ones. */
  caCertificates: z.string().max(65_536).optional(),
})

const backendSchema = z.object({
  name,
  provider: name,
  /** The model's name at the provider. */
  model: z.string().min(1).max(512),
  /** Lower is tried first; weights share the traffic within one priority. */
  priority: z.int().min(0).max(1000),
  weight: z.int().min(0).max(1000),
})

/** A model that clients may name, and everything needed to serve and price it. */
export const routeDocumentSchema = z.object({
  /** `<provider>/<model>`, what clients send. */
  model: z
    .string()
    .regex(/^[^/\s]+\/\S+$/)
    .max(253),
  type: z.enum(['chat', 'embedding']),
  displayName: z.string(),
  description: z.string(),
  /**
   * Kinds of input, as a ModelRoute names them, for users who choose a model. No request is decided by them,
   * so an unknown value is no reason to reject the route. Older documents have none: only text.
   */
  inputModalities: z.array(z.string()).max(16).default(['text']),
  /** What it can do, as a ModelRoute names it, for the same users; absent: unknown. */
  capabilities: z.array(z.string()).max(16).optional(),
  createdAtS: z.int(),
  contextLength: z.int().positive().nullable(),
  maxOutputTokens: z.int().positive().nullable(),
  /**
   * Whether the model may reason without showing it, so that only usage shows the cost of a response.
   * Defaults to true.
   */
  hiddenReasoning: z.boolean().default(true),
  /** Held when the request names no limit; never sent upstream. */
  defaultOutputTokens: z.int().positive(),
  backends: z.array(backendSchema).min(1).max(16),
  /** Other routes, tried in order; not transitive. */
  fallbacks: z.array(z.string()).max(8),
  timeouts: z.object({
    requestMs: z.int().positive(),
    firstByteMs: z.int().positive(),
    streamIdleMs: z.int().positive(),
  }),
  /** Tries per model, first one included. */
  attempts: z.int().min(1).max(10),
  parameters: z.object({
    drop: z.array(z.string()).max(64),
    rename: z.record(z.string(), z.string()),
    defaults: z.record(z.string(), z.unknown()),
  }),
  /** `null`: explicitly free. */
  price: priceSchema.nullable(),
  /**
   * The next scheduled price, which gateways apply from its time on: no worker, Postgres or message is needed then.
   * Absent: none waits.
   */
  nextPrice: z.object({ fromMs: z.int().positive(), price: priceSchema }).optional(),
  /** `null`: open to all organizations; else the ids of those that may see it. */
  organizations: z.array(z.uuid()).nullable(),
})

export type ProviderDocument = z.infer<typeof providerDocumentSchema>
export type RouteDocument = z.infer<typeof routeDocumentSchema>
/** A route as JSON carries it: prices as decimal strings. */
export type RouteDocumentJson = z.input<typeof routeDocumentSchema>

/**
 * A document as stored in Redis: `<HMAC-SHA-256, base64url>.<JSON>`. Only the worker can write a valid one.
 *
 * @param json of an object with fields.
 * @param revision of the catalog that it is published with. It becomes part of the signed JSON. So a process
 * that can write to Redis cannot put an old document, with its old price, into a newer catalog.
 */
export function signDocument(json: string, revision: string, [signingKey]: KeyList<string>): string {
  const dated = `{"revision":"${revision}",${json.slice(1)}`
  return `${macOf(dated, signingKey)}.${dated}`
}

/**
 * The JSON of a document that one of `signingKeys` has signed for this revision, without the revision, else `undefined`.
 * A document of the first release names no revision and counts in each.
 */
export function findSignedJson(
  signed: string,
  revision: string,
  signingKeys: KeyList<string>,
): string | undefined {
  const dot = signed.indexOf('.')
  if (dot < 0) return undefined
  const json = signed.slice(dot + 1)
  const given = Buffer.from(signed.slice(0, dot))
  const isSignedBy = (signingKey: string) => {
    const right = Buffer.from(macOf(json, signingKey))
    return given.length === right.length && timingSafeEqual(given, right)
  }
  if (!signingKeys.some(isSignedBy)) return undefined
  const dated = datedPattern.exec(json)
  if (dated === null) return json
  return dated[1] === revision ? `{${json.slice(dated[0].length)}` : undefined
}

const datedPattern = /^\{"revision":"(\d+)",/

/** Digest of signed documents (name → text, in order). It also differs when only the signing key differs. */
export function digestOf(documents: ReadonlyMap<string, string>): string {
  const hash = createHash('sha256')
  for (const [name, signed] of documents) hash.update(`${name}\n${signed}\n`)
  return hash.digest('base64url')
}

function macOf(json: string, signingKey: string): string {
  return createHmac('sha256', signingKey).update(json).digest('base64url')
}
