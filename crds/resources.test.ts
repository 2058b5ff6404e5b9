import { describe, expect, test } from 'vitest'
import type { z } from 'zod'
import { apiKeySchema } from './api-key.ts'
import { modelProviderSchema } from './model-provider.ts'
import { modelRouteSchema } from './model-route.ts'
import { apiVersion, durationMs } from './resource.ts'

// As users write them: they must go on being accepted, to the field.
const apiKey = {
  apiVersion,
  kind: 'ApiKey',
  metadata: { name: 'ci', namespace: 'team-a' },
  spec: {
    organization: 'acme',
    displayName: 'CI pipeline',
    suspend: false,
    expiresAt: '2027-06-01T00:00:00Z',
    allowedModels: ['openai/gpt-4o-mini', 'anthropic/*'],
    limits: { requestsPerMinute: 600, tokensPerMinute: 200_000, dailyBudgetRub: '250.00' },
    readBalance: false,
    secret: { name: 'ci-apikey', key: 'OPENAI_API_KEY', baseURLKey: 'OPENAI_BASE_URL' },
    rotation: { trigger: '2026-11-20', interval: '2160h', gracePeriod: '24h' },
    adoption: 'Allow',
    deletionPolicy: 'Revoke',
  },
}
const modelProvider = {
  apiVersion,
  kind: 'ModelProvider',
  metadata: { name: 'openai' },
  spec: {
    api: 'OpenAI',
    baseURL: 'https://api.openai.com/v1',
    network: { http: false, privateAddresses: false },
    auth: { type: 'Bearer', secretRef: { name: 'openai', key: 'apiKey' } },
    allowedRoutes: {
      namespaces: { from: 'Selector', selector: { matchLabels: { team: 'a' }, matchExpressions: [] } },
    },
    headers: [],
    limits: { requestsPerMinute: 5000 },
    healthCheck: { type: 'ListModels' },
    tls: { caSecretRef: { name: 'corp-ca' } },
  },
}
const modelRoute = {
  apiVersion,
  kind: 'ModelRoute',
  metadata: { name: 'gpt-4o-mini' },
  spec: {
    model: 'openai/gpt-4o-mini',
    type: 'chat',
    displayName: 'GPT-4o mini',
    description: '…',
    inputModalities: ['text', 'image'],
    contextLength: 128_000,
    maxOutputTokens: 16_384,
    defaultOutputTokens: 4096,
    backends: [
      {
        name: 'main',
        providerRef: { name: 'openai', namespace: 'models' },
        model: 'gpt-4o-mini-2024-07-18',
        priority: 0,
        weight: 80,
      },
    ],
    fallbacks: ['openai/gpt-3.5-turbo'],
    timeouts: { request: '10m', firstByte: '60s', streamIdle: '60s' },
    retry: { attempts: 2 },
    parameters: { drop: ['seed'], rename: {}, defaults: {} },
    pricingRubPerMillionTokens: {
      input: '15.500',
      cachedInput: '7.750',
      cacheWrite: '18.600',
      output: '62.000',
      reasoning: '62.000',
    },
    pricingRubPerRequest: '0',
    access: { scope: 'All' },
  },
}

function faultsOf(schema: z.ZodType, resource: object): string[] {
  const parsed = schema.safeParse(resource)
  return (parsed.error?.issues ?? []).map(({ path, message }) => `${path.join('.')}: ${message}`)
}

test('resources are accepted as users write them', () => {
  expect(apiKeySchema.parse(apiKey)).toEqual(apiKey)
  expect(modelProviderSchema.parse(modelProvider)).toEqual(modelProvider)
  expect(modelRouteSchema.parse(modelRoute)).toEqual({
    ...modelRoute,
    spec: { ...modelRoute.spec, free: false },
  })
})

test('what may be left out has a default', () => {
  const { model, backends } = modelRoute.spec
  const bare = { ...modelRoute, spec: { model, backends, free: true } }
  expect(modelRouteSchema.parse(bare).spec).toMatchObject({
    type: 'chat',
    inputModalities: ['text'],
    defaultOutputTokens: 4096,
    fallbacks: [],
    timeouts: { request: '10m', firstByte: '60s', streamIdle: '60s' },
    retry: { attempts: 2 },
    parameters: { drop: [], rename: {}, defaults: {} },
    access: { scope: 'All' },
  })
  expect(apiKeySchema.parse({ ...apiKey, spec: { organization: 'acme' } }).spec).toMatchObject({
    suspend: false,
    limits: {},
    readBalance: false,
    secret: { key: 'OPENAI_API_KEY', baseURLKey: 'OPENAI_BASE_URL' },
    deletionPolicy: 'Revoke',
  })
  const { api, baseURL } = modelProvider.spec
  expect(modelProviderSchema.parse({ ...modelProvider, spec: { api, baseURL } }).spec).toMatchObject({
    auth: { type: 'None' },
    network: { http: false, privateAddresses: false },
    allowedRoutes: { namespaces: { from: 'Same' } },
    healthCheck: { type: 'None' },
  })
})

describe('a fault is named with its field', () => {
  const route = (change: object) =>
    faultsOf(modelRouteSchema, { ...modelRoute, spec: { ...modelRoute.spec, ...change } })
  const provider = (change: object) =>
    faultsOf(modelProviderSchema, { ...modelProvider, spec: { ...modelProvider.spec, ...change } })
  const key = (change: object) => faultsOf(apiKeySchema, { ...apiKey, spec: { ...apiKey.spec, ...change } })
  const modelName = 'must be <provider>/<model>, without *'
  const allowedModel = 'must be <provider>/<model> or <provider>/*; no other wildcard is supported'
  const defaults = (given: object) => route({ parameters: { defaults: given } })
  const unstorable = 'must not contain U+0000 or an unpaired surrogate: the database cannot store them'
  const tooDeep = 'spec.parameters.defaults.a: must not be nested more than 64 levels deep'
  const notItsOwn =
    'spec.parameters.defaults: must not contain n, model, messages, input or stream: only the request may set these'
  const prices = (change: object) =>
    route({ pricingRubPerMillionTokens: { input: '1', output: '1', ...change } })
  test.each([
    [route({ model: 'gpt-4o' }), `spec.model: ${modelName}`],
    [route({ model: 'a/*' }), `spec.model: ${modelName}`],
    [route({ model: 'a*/b' }), `spec.model: ${modelName}`],
    [route({ fallbacks: ['a/b*'] }), `spec.fallbacks.0: ${modelName}`],
    [
      route({ pricingRubPerMillionTokens: undefined }),
      'spec: must have a price: set pricingRubPerMillionTokens, or set free to true',
    ],
    [route({ free: true }), 'spec.free: must not be true when a price is set'],
    [
      route({ free: true, pricingRubPerMillionTokens: undefined, pricingRubPerRequest: '5' }),
      'spec.free: must not be true when a price is set',
    ],
    [
      route({ pricingRubPerMillionTokens: { input: '1' } }),
      'spec.pricingRubPerMillionTokens: must include output for a chat model',
    ],
    [
      prices({ input: 15.5 }),
      'spec.pricingRubPerMillionTokens.input: must be a quoted amount of rubles with at most 3 decimal places, such as "15.500"',
    ],
    [
      prices({ input: '1.0001' }),
      'spec.pricingRubPerMillionTokens.input: must be a quoted amount of rubles with at most 3 decimal places, such as "15.500"',
    ],
    [
      route({ timeouts: { request: '90' } }),
      'spec.timeouts.request: must be a duration, such as 90s, 10m or 1h30m',
    ],
    [route({ timeouts: { request: '9h' } }), 'spec.timeouts.request: must be between 0.1s and 3600s'],
    [route({ parameter: {} }), 'spec: Unrecognized key: "parameter"'],
    [
      route({ backends: [modelRoute.spec.backends[0], modelRoute.spec.backends[0]] }),
      'spec.backends: must not contain two backends with the same name',
    ],
    [
      provider({ baseURL: 'api.openai.com' }),
      'spec.baseURL: must be a URL such as https://api.openai.com/v1',
    ],
    [
      provider({ baseURL: 'https://a:b@api.openai.com' }),
      'spec.baseURL: must not contain a user name or password',
    ],
    [
      provider({ headers: [{ name: 'a b', value: '' }] }),
      'spec.headers.0.name: must be a valid HTTP header name',
    ],
    [
      provider({ headers: [{ name: 'Content-Length', value: '1' }] }),
      'spec.headers.0.name: is a connection header, which the gateway sets itself',
    ],
    [
      provider({ auth: { ...modelProvider.spec.auth, type: 'Header', headerName: 'keep-alive' } }),
      'spec.auth.headerName: is a connection header, which the gateway sets itself',
    ],
    [
      key({ organization: 'Acme Inc' }),
      'spec.organization: must be an organization name: lowercase letters, digits and hyphens',
    ],
    [
      key({ limits: { dailyBudgetRub: 250 } }),
      'spec.limits.dailyBudgetRub: must be a quoted amount of rubles, such as "250.00"',
    ],
    [
      key({ expiresAt: '2027-06-01' }),
      'spec.expiresAt: must be an RFC 3339 time, such as 2027-06-01T00:00:00Z',
    ],
    ...['gpt-4o', 'openai/gpt-4*', 'openai/**', 'openai/*/x', '*/*', '*/gpt-4o', '*'].map((model) => [
      key({ allowedModels: [model] }),
      `spec.allowedModels.0: ${allowedModel}`,
    ]),
    [key({ displayName: '\ud83d' }), `spec.displayName: ${unstorable}`],
    [key({ rotation: { trigger: 'a\0' } }), `spec.rotation.trigger: ${unstorable}`],
    [route({ description: '\udc00' }), `spec.description: ${unstorable}`],
    [defaults({ 'a\0': 1 }), `spec.parameters.defaults: ${unstorable}`],
    [defaults({ a: '\ud800' }), `spec.parameters.defaults: ${unstorable}`],
    [defaults({ a: [{ b: 'c\0' }] }), `spec.parameters.defaults: ${unstorable}`],
    [defaults({ n: 2 }), notItsOwn],
    [defaults({ model: 'a', stream: true }), notItsOwn],
    [
      route({ parameters: { rename: { answers: 'n' } } }),
      'spec.parameters.rename: must not rename a parameter to n, model, messages, input or stream: only the request may set these',
    ],
    [defaults({ a: nested(65) }), tooDeep],
    [defaults({ a: nested(9_000) }), tooDeep],
    [defaults({ a: { '\0': null } }), `spec.parameters.defaults: ${unstorable}`],
  ])('%j', (faults, fault) => {
    expect(faults).toEqual([fault])
  })
})

test('defaults of parameters may be nested 64 deep', () => {
  const parameters = { drop: [], rename: {}, defaults: { a: nested(64) } }
  const spec = { ...modelRoute.spec, parameters }
  expect(modelRouteSchema.parse({ ...modelRoute, spec }).spec.parameters).toEqual(parameters)
})

test('a span of time is the sum of its parts', () => {
  expect(['500ms', '90s', '10m', '1h30m', '0s'].map(durationMs)).toEqual([500, 90_000, 600_000, 5_400_000, 0])
})

/** Arrays within each other. */
function nested(levels: number): unknown {
  let value: unknown = 'x'
  for (let level = 0; level < levels; level++) value = [value]
  return value
}
