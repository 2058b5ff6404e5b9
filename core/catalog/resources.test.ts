import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { apiKeySchema } from '#crds/api-key'
import { modelProviderSchema } from '#crds/model-provider'
import { modelRouteSchema } from '#crds/model-route'
import { apiVersion } from '#crds/resource'
import { draftKey } from '../keys/key-resource.ts'
import type { KeyList } from '../process/key-list.ts'
import { providerDocumentSchema } from './catalog-document.ts'
import { openCredential } from './credential-seal.ts'
import { draftProvider, type ProviderDraft, sealProvider } from './provider-resource.ts'
import { draftRoute } from './route-resource.ts'

const sealingKeys = [randomBytes(32)] as const

function draft(spec: object, annotations: Record<string, string> = {}) {
  return draftProvider(
    modelProviderSchema.parse({
      apiVersion,
      kind: 'ModelProvider',
      metadata: { name: 'p', annotations },
      spec: { api: 'OpenAI', baseURL: 'https://llm.example/v1', ...spec },
    }),
  )
}

function drafted(spec: object, annotations: Record<string, string> = {}): ProviderDraft {
  const made = draft(spec, annotations)
  if ('problem' in made) throw new Error(made.problem)
  return made.draft
}

const secretRef = { name: 'llm', key: 'apiKey' }

test("a credential is encrypted for the header that its api's keys are sent in", () => {
  const folder = [{ name: 'OpenAI-Project', value: 'b1g' }]
  const cases = [
    [{ auth: { type: 'Bearer', secretRef } }, 'Bearer', 'authorization', 'secret'],
    [{ auth: { type: 'ApiKey', secretRef } }, 'Bearer', 'authorization', 'secret'],
    [{ api: 'AzureOpenAI', auth: { type: 'ApiKey', secretRef } }, 'Header', 'api-key', 'secret'],
    [
      { api: 'YandexGPT', headers: folder, auth: { type: 'ApiKey', secretRef } },
      'Header',
      'authorization',
      'Api-Key secret',
    ],
    [{ api: 'Anthropic', auth: { type: 'ApiKey', secretRef } }, 'Header', 'x-api-key', 'secret'],
    [{ api: 'Anthropic', auth: { type: 'Bearer', secretRef } }, 'Bearer', 'authorization', 'secret'],
    [{ api: 'Gemini', auth: { type: 'ApiKey', secretRef } }, 'Header', 'x-goog-api-key', 'secret'],
    [{ auth: { type: 'Header', headerName: 'X-Key', secretRef } }, 'Header', 'x-key', 'secret'],
  ] as const
  for (const [spec, type, header, value] of cases) {
    const made = drafted(spec)
    expect(made.credential?.secretRef).toEqual(secretRef)
    const secrets = { credential: 'secret', caCertificates: undefined }
    const sealed = providerDocumentSchema.parse(sealProvider(made, secrets, sealingKeys, undefined))
    expect(sealed.auth).toMatchObject(type === 'Bearer' ? { type } : { type, header })
    const text = 'sealed' in sealed.auth ? sealed.auth.sealed : ''
    const boundTo = { provider: 'p', baseUrl: 'https://llm.example/v1', header, caCertificates: undefined }
    expect(openCredential(text, boundTo, sealingKeys)).toBe(value)
  }
})

test('the same credential again is the same document; another one, or another address, is not', () => {
  const made = drafted({ auth: { type: 'Bearer', secretRef } })
  const seal = (from: ProviderDraft, credential: string, before?: ReturnType<typeof sealProvider>) =>
    sealProvider(from, { credential, caCertificates: undefined }, sealingKeys, before)
  const first = seal(made, 'one')
  expect(seal(made, 'one', first)).toEqual(first)
  expect(seal(made, 'two', first)).not.toEqual(first)
  const rekeyed = (...keys: KeyList<Uint8Array>) =>
    sealProvider(made, { credential: 'one', caCertificates: undefined }, keys, first)
  expect(rekeyed(sealingKeys[0], randomBytes(32))).toEqual(first)
  expect(rekeyed(randomBytes(32), sealingKeys[0])).not.toEqual(first) // soon the old key is of no use
  const moved = drafted({ baseURL: 'https://else.example/v1', auth: { type: 'Bearer', secretRef } })
  expect(seal(moved, 'one', first).auth).not.toEqual(first.auth)
})

test('the catalog has each required field of a provider; what cannot be served is reported', () => {
  expect(
    drafted({ limits: { requestsPerMinute: 5 }, country: 'KZ' }, { 'modelgateway.dev/quirks': 'vllm' })
      .document,
  ).toEqual({
    name: 'p',
    api: 'OpenAI',
    quirks: 'vllm',
    baseUrl: 'https://llm.example/v1',
    headers: [],
    network: { http: false, privateAddresses: false },
    country: 'KZ',
    requestsPerMinute: 5,
  })
  const yandex = drafted({ api: 'YandexGPT', headers: [{ name: 'x-folder-id', value: 'b1g' }] })
  expect(yandex.document.template).toEqual({ folder: 'b1g' })
  expect(drafted({ tls: { caSecretRef: { name: 'corp' } } }).caSecretRef).toEqual({
    name: 'corp',
    key: 'ca.crt',
  })
  for (const [spec, annotations, problem] of [
    [
      { baseURL: 'https://llm.example/v1/chat/completions' },
      {},
      'ends with /chat/completions, which gateways add themselves: use https://llm.example/v1',
    ],
    [
      { baseURL: 'https://llm.example/v1/embeddings/?version=2' },
      {},
      'ends with /embeddings, which gateways add themselves: use https://llm.example/v1?version=2',
    ],
    [
      { api: 'Gemini', baseURL: 'https://llm.example/v1beta/models/gemini-pro:generateContent' },
      {},
      'ends with /models/gemini-pro:generateContent, which gateways add themselves: use https://llm.example/v1beta',
    ],
    [{ api: 'YandexGPT' }, {}, 'must include OpenAI-Project with the ID of the YandexGPT folder'],
    [{}, { 'modelgateway.dev/quirks': 'odd' }, expect.stringContaining('must be one of generic, openai')],
    [
      {},
      { 'modelgateway.dev/quirks': 'anthropic' },
      expect.stringContaining('must be one of generic, openai'),
    ],
    [
      { api: 'Anthropic' },
      { 'modelgateway.dev/quirks': 'openai' },
      'must be one of anthropic, anthropic-2026-10-21',
    ],
  ] as const)
    expect(draft(spec, annotations)).toMatchObject({ problem })
  for (const baseURL of ['https://llm.example/models', 'https://llm.example/chat/completions/v1'])
    expect(drafted({ baseURL }).document.baseUrl).toBe(baseURL)
})

test('prices become whole nano-rubles per token, to the last decimal', () => {
  const { route, price, organizations } = draftRoute(
    modelRouteSchema.parse({
      apiVersion,
      kind: 'ModelRoute',
      metadata: { name: 'r' },
      spec: {
        model: 'a/b',
        backends: [{ name: 'main', providerRef: { name: 'p' }, model: 'b-2024' }],
        timeouts: { firstByte: '5s' },
        pricingRubPerMillionTokens: { input: '15.5', cachedInput: '0.001', output: '999999999999.999' },
        pricingRubPerRequest: '0.1',
        access: { scope: 'Organizations', organizations: ['acme'] },
      },
    }),
  )
  expect(price).toEqual({
    input: 15_500n,
    cachedInput: 1n,
    cacheWrite: null,
    output: 999_999_999_999_999n,
    reasoning: null,
    perRequest: 100_000_000n,
  })
  expect(organizations).toEqual(['acme'])
  expect(route).toMatchObject({
    model: 'a/b',
    displayName: 'a/b',
    backends: [{ name: 'main', provider: 'p', model: 'b-2024', priority: 0, weight: 1 }],
    timeouts: { requestMs: 600_000, firstByteMs: 5000, streamIdleMs: 60_000 },
    attempts: 2,
  })
})

test("a key's limits are those of the database, rubles as nano-rubles", () => {
  const key = apiKeySchema.parse({
    apiVersion,
    kind: 'ApiKey',
    metadata: { name: 'ci' },
    spec: {
      organization: 'acme',
      suspend: true,
      expiresAt: '2027-06-01T03:00:00+03:00',
      allowedModels: ['a/*'],
      limits: { requestsPerMinute: 6, dailyBudgetRub: '250.5' },
      rotation: { trigger: 't', gracePeriod: '1h30m' },
    },
  })
  expect(draftKey(key)).toEqual({
    name: 'ci',
    organization: 'acme',
    limits: {
      rpm: 6,
      tpm: null,
      dailyBudgetNano: 250_500_000_000n,
      weeklyBudgetNano: null,
      monthlyBudgetNano: null,
      totalBudgetNano: null,
      allowedModels: ['a/*'],
      expiresAt: new Date('2027-06-01T00:00:00Z'),
      allowedIps: null,
      readBalance: false,
      keepsResponsesHours: null,
    },
    tags: [],
    suspended: true,
    rotationTrigger: 't',
    rotationIntervalS: null,
    rotationGraceS: 5400,
    adoption: 'Allow',
    deletionPolicy: 'Revoke',
  })
})
