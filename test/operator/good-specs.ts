import { bareSpecs, type Kind } from './specs.ts'

const [backend] = bareSpecs.ModelRoute.backends
const secretRef = { name: 'openai', key: 'apiKey' }
const long = (length: number) => 'x'.repeat(length)

/** At the edge of what both take. */
export const goodSpecs: readonly (readonly [Kind, object])[] = [
  ['ApiKey', { organization: long(63) }],
  ['ApiKey', { expiresAt: '2027-06-01T00:00:00.123456789+03:00' }],
  ['ApiKey', { expiresAt: '2028-02-29T23:59:59Z' }],
  ['ApiKey', { allowedModels: ['anthropic/*', 'a/b/c:free', 'a/b@1'] }],
  ['ApiKey', { allowedModels: [] }],
  ['ApiKey', { allowedIPs: ['0.0.0.0/0', '::/0', '2001:DB8::1', '::ffff:1.2.3.4', '10.0.0.0/8'] }],
  ['ApiKey', { allowedIPs: Array.from({ length: 100 }, (_, n) => `10.0.0.${n}`) }],
  ['ApiKey', { secret: { name: long(253), key: '.npmrc', baseURLKey: '' } }],
  ['ApiKey', { displayName: 'Ж\u{1F600}\t\r\n\u0001\\u0000' }],
  ['ApiKey', { rotation: { trigger: '1', gracePeriod: '0s' } }],
  ['ApiKey', { rotation: { interval: '1h', gracePeriod: '59m59s' } }],
  ['ApiKey', { rotation: { trigger: '1', interval: '87600h' } }],
  ['ApiKey', { secret: { template: { labels: { team: '', 'example.com/A_b.c': long(63) } } } }],
  [
    'ApiKey',
    { secret: { template: { annotations: { 'reloader.example/match': long(4096), modelgateway: '' } } } },
  ],
  ['ModelProvider', { baseURL: 'http://10.1.2.3:8000/v1', network: { http: true, privateAddresses: true } }],
  ['ModelProvider', { baseURL: 'https://res.openai.azure.com/openai?api-version=2024-10-21' }],
  ['ModelProvider', { baseURL: 'https://[::1]:65535/v1' }],
  ['ModelProvider', { baseURL: 'https://vllm.2team' }],
  ['ModelProvider', { baseURL: 'https://xn--e1afmkfd.xn--p1ai/a%20b/@c' }],
  ['ModelProvider', { auth: { type: 'ApiKey', secretRef } }],
  ['ModelProvider', { auth: { type: 'Header', headerName: 'x-api-key', secretRef } }],
  ['ModelProvider', { healthCheck: { type: 'ListModels' } }],
  ['ModelProvider', { allowedRoutes: {} }],
  ['ModelProvider', { allowedRoutes: { namespaces: { from: 'All' } } }],
  ...[
    { matchLabels: { 'models.example/shared': 'yes', tier: '' } },
    { matchExpressions: [{ key: 'a', operator: 'NotIn', values: ['b', ''] }] },
    { matchExpressions: [{ key: 'a.b/C_d', operator: 'Exists' }] },
  ].map((selector): readonly [Kind, object] => [
    'ModelProvider',
    { allowedRoutes: { namespaces: { from: 'Selector', selector } } },
  ]),
  ['ModelRoute', { backends: [{ ...backend, providerRef: { name: 'openai', namespace: long(63) } }] }],
  ['ModelRoute', { backends: [{ ...backend, providerRef: { name: long(253) } }] }],
  ['ModelRoute', { free: undefined, pricingRubPerMillionTokens: { input: '15.500' }, type: 'embedding' }],
  ['ModelRoute', { pricingRubPerRequest: '00.000' }],
  ['ModelRoute', { parameters: { defaults: { a: null, b: [1.5, { c: null }], d: true } } }],
  ['ModelRoute', { timeouts: { request: '30s' } }],
  ['ModelRoute', { access: { scope: 'Organizations', organizations: ['acme'] } }],
]
