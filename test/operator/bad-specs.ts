import { bareSpecs, type Kind } from './specs.ts'

/** A spec that is rejected: its field, the message for users, and zod's message if that differs. */
export type BadSpec = readonly [kind: Kind, change: object, field: string, says: string, zodSays?: string]

const secretRef = { name: 'openai', key: 'apiKey' }
const [backend] = bareSpecs.ModelRoute.backends
const prices = { input: '15.500', output: '62.000' }
const priced = (change: object) => ({
  free: undefined,
  pricingRubPerMillionTokens: { ...prices, ...change },
})
const long = (length: number) => 'x'.repeat(length)

const address = 'must be a URL such as https://api.openai.com/v1'
const badAddresses = [
  'api.openai.com',
  'ftp://llm.example',
  'HTTP://llm.example', // would pass for something else than plain http
  'https:llm.example',
  'https:/llm.example',
  'https:\\\\llm.example',
  'https://',
  'https://?x',
  'https://llm.example:65536',
  'https://llm.example/#part',
  'https://llm.example/%zz',
  'https://llm.example/a b',
  ' https://llm.example',
  'https://llm .example',
  'https://256.1.1.1',
  'https://127.1',
  'https://0x7f.1',
  'https://2130706433',
  'https://010.0.0.1',
].map((baseURL): BadSpec => ['ModelProvider', { baseURL }, 'spec.baseURL', address])

const time = 'must be an RFC 3339 time, such as 2027-06-01T00:00:00Z'
const badTimes = [
  'tomorrow',
  '2027-06-01',
  '2027-06-01T00:00Z',
  '2027-06-01T00:00:00',
  '2027-06-01t00:00:00z',
  '2027-06-01T24:00:00Z',
  '2027-06-01T00:00:00+99:99',
  '2027-02-30T00:00:00Z',
].map((expiresAt): BadSpec => ['ApiKey', { expiresAt }, 'spec.expiresAt', time])

const allowedModel = 'must be <provider>/<model> or <provider>/*; no other wildcard is supported'
const badModels = [
  'gpt-4o',
  '/b',
  'a/',
  'a/b c',
  'a\u00a0b/c',
  'a/b\u2003',
  'a/b\n',
  'a/b*',
  'a/**',
  'a/*/b',
  '*/*',
  '*/b',
  '*',
].map((model): BadSpec => ['ApiKey', { allowedModels: [model] }, 'spec.allowedModels[0]', allowedModel])

const organization = 'must be an organization name: lowercase letters, digits and hyphens'
const secretKey = 'must be a valid Secret key: letters, digits, hyphens, dots and underscores'
const span = 'must be a duration, such as 90s, 10m or 1h30m'

/** Of ApiKeys. */
const badKeys: readonly BadSpec[] = [
  ['ApiKey', { organization: 'Acme Inc' }, 'spec.organization', organization],
  ['ApiKey', { organization: '' }, 'spec.organization', organization],
  [
    'ApiKey',
    { organization: undefined },
    'spec.organization',
    'Required value',
    `spec.organization: ${organization}`,
  ],
  [
    'ApiKey',
    { displayName: long(121) },
    'spec.displayName',
    'Too long',
    'spec.displayName: Too big: expected string to have <=120 characters',
  ],
  ...badTimes,
  ...badModels,
  ...['', 'x', '10.0.0.0/', '10.0.0.0/1234', '1.2.3.4:x', '[::1]', 'fe80::1%eth0', '::1\n'].map(
    (network): BadSpec => [
      'ApiKey',
      { allowedIPs: [network] },
      'spec.allowedIPs[0]',
      'must be an IPv4 or IPv6 address, or a network such as 10.0.0.0/8',
    ],
  ),
  ...['', 'Team', 'a b', '-a', 'a\u0007', 'метка'].map(
    (tag): BadSpec => [
      'ApiKey',
      { tags: [tag] },
      'spec.tags[0]',
      'must be a-z, 0-9, dots, underscores and hyphens, and begin with a letter or digit',
    ],
  ),
  [
    'ApiKey',
    { allowedModels: ['a/b', 'a/b'] },
    'spec.allowedModels[1]',
    'Duplicate value: "a/b"',
    'spec.allowedModels: must not contain the same model twice',
  ],
  [
    'ApiKey',
    { limits: { requestsPerMinute: 0 } },
    'spec.limits.requestsPerMinute',
    'should be greater than or equal to 1',
    'spec.limits.requestsPerMinute: Too small: expected number to be >=1',
  ],
  [
    'ApiKey',
    { limits: { tokensPerMinute: 2_147_483_648 } },
    'spec.limits.tokensPerMinute',
    'should be less than or equal to 2147483647',
    'spec.limits.tokensPerMinute: Too big: expected number to be <=2147483647',
  ],
  [
    'ApiKey',
    { limits: { dailyBudgetRub: 250 } },
    'spec.limits.dailyBudgetRub',
    'must be of type string',
    'spec.limits.dailyBudgetRub: must be a quoted amount of rubles, such as "250.00"',
  ],
  [
    'ApiKey',
    { limits: { dailyBudgetRub: '-1' } },
    'spec.limits.dailyBudgetRub',
    'must be a quoted amount of rubles, such as "250.00"',
  ],
  [
    'ApiKey',
    { limits: { monthlyBudgetRub: '1000000000000' } },
    'spec.limits.monthlyBudgetRub',
    'must be a quoted amount of rubles, such as "250.00"',
  ],
  [
    'ApiKey',
    { limits: { weeklyBudgetRub: '0.00' } },
    'spec.limits.weeklyBudgetRub',
    'must be more than 0 rubles',
  ],
  [
    'ApiKey',
    { limits: { totalBudgetRub: '-1' } },
    'spec.limits.totalBudgetRub',
    'must be a quoted amount of rubles, such as "250.00"',
  ],
  [
    'ApiKey',
    { limits: { perDay: 1 } },
    'ApiKey in version "v1alpha1" cannot be handled as a ApiKey',
    'unknown field "spec.limits.perDay"',
    'spec.limits: Unrecognized key: "perDay"',
  ],
  [
    'ApiKey',
    { secret: { name: 'a..b' } },
    'spec.secret.name',
    'must be a valid object name: lowercase letters, digits, hyphens and dots',
  ],
  ['ApiKey', { secret: { key: '..data' } }, 'spec.secret.key', secretKey],
  [
    'ApiKey',
    { secret: { baseURLKey: 'a b' } },
    'spec.secret.baseURLKey',
    'must be a valid Secret key, or empty to leave the base URL out',
  ],
  [
    'ApiKey',
    { secret: { baseURLKey: 'OPENAI_API_KEY' } },
    'spec.secret.baseURLKey',
    'must differ from key: one Secret key cannot hold both values',
  ],
  ['ApiKey', { rotation: {} }, 'spec.rotation', 'must set trigger, interval or both'],
  ['ApiKey', { rotation: { interval: '1d' } }, 'spec.rotation.interval', span],
  [
    'ApiKey',
    { rotation: { interval: '59m', gracePeriod: '1m' } },
    'spec.rotation.interval',
    'must be between 3600s and 315360000s',
  ],
  ...[{ interval: '24h' }, { interval: '1h', gracePeriod: '60m' }].map(
    (rotation): BadSpec => [
      'ApiKey',
      { rotation },
      'spec.rotation.gracePeriod',
      'must be shorter than interval, or ever more API keys would be valid at once',
    ],
  ),
  ...['modelgateway.dev/x', 'a.modelgateway.dev/x'].flatMap((name): BadSpec[] =>
    ['labels', 'annotations'].map((field) => [
      'ApiKey',
      { secret: { template: { [field]: { [name]: 'x' } } } },
      `spec.secret.template.${field}`,
      'must not use the prefix modelgateway.dev/, which is reserved',
    ]),
  ),
  ...['', 'a b', '-a', 'a/b/c', 'A.com/b', long(64), `${long(316)}/a`].map(
    (name): BadSpec => [
      'ApiKey',
      { secret: { template: { annotations: { [name]: 'x' } } } },
      'spec.secret.template.annotations',
      'must have names such as team or example.com/team',
    ],
  ),
  [
    'ApiKey',
    { secret: { template: { labels: { team: 'a b' } } } },
    'spec.secret.template.labels',
    'must have values of letters, digits, hyphens, dots and underscores',
  ],
  [
    'ApiKey',
    { secret: { template: { labels: { team: long(64) } } } },
    'spec.secret.template.labels.team',
    'Too long',
    'spec.secret.template.labels.team: Too big: expected string to have <=63 characters',
  ],
  [
    'ApiKey',
    {
      secret: {
        template: { annotations: Object.fromEntries(Array.from({ length: 33 }, (_, n) => [`a${n}`, ''])) },
      },
    },
    'spec.secret.template.annotations',
    'must have at most 32 items',
    'spec.secret.template.annotations: must have at most 32 entries',
  ],
  [
    'ApiKey',
    { rotation: { trigger: '' } },
    'spec.rotation.trigger',
    'should be at least 1 chars long',
    'spec.rotation.trigger: Too small: expected string to have >=1 characters',
  ],
  ['ApiKey', { rotation: { trigger: 'a', gracePeriod: '24' } }, 'spec.rotation.gracePeriod', span],
  [
    'ApiKey',
    { rotation: { trigger: 'a', gracePeriod: '2161h' } },
    'spec.rotation.gracePeriod',
    'must be between 0s and 7776000s',
  ],
  [
    'ApiKey',
    { deletionPolicy: 'Keep' },
    'spec.deletionPolicy',
    'supported values: "Revoke", "Orphan"',
    'spec.deletionPolicy: Invalid option: expected one of "Revoke"|"Orphan"',
  ],
]

const goesWith = (types: string) => `must be set when type is ${types}, and only then`
const bearers = goesWith('Bearer, ApiKey, or Header')

const allowing = (namespaces: object) => ({ allowedRoutes: { namespaces } })
const selecting = (selector: object) => allowing({ from: 'Selector', selector })
const place = 'spec.allowedRoutes.namespaces'
const nothing = 'must have matchLabels or matchExpressions: to select all, set from to All'
const onlyForSelector = 'must be set when from is Selector, and only then'
const badSelectors: readonly BadSpec[] = [
  ['ModelProvider', selecting({}), `${place}.selector`, nothing],
  ['ModelProvider', selecting({ matchLabels: {} }), `${place}.selector`, nothing],
  [
    'ModelProvider',
    allowing({ from: 'Selector' }),
    `${place}.selector`,
    onlyForSelector,
    `${place}.selector: Invalid input: expected object, received undefined`,
  ],
  [
    'ModelProvider',
    allowing({ from: 'All', selector: { matchLabels: { a: 'b' } } }),
    `${place}.selector`,
    onlyForSelector,
    `${place}: Unrecognized key: "selector"`,
  ],
  [
    'ModelProvider',
    allowing({ from: 'None' }),
    `${place}.from`,
    'supported values: "Same", "All", "Selector"',
    `${place}.from: Invalid discriminator value. Expected 'Same' | 'All' | 'Selector'`,
  ],
  [
    'ModelProvider',
    selecting({ matchExpressions: [{ key: 'a', operator: 'In' }] }),
    `${place}.selector.matchExpressions[0].values`,
    'must be set when operator is In or NotIn, and only then',
  ],
  [
    'ModelProvider',
    selecting({ matchExpressions: [{ key: 'a', operator: 'Exists', values: ['b'] }] }),
    `${place}.selector.matchExpressions[0].values`,
    'must be set when operator is In or NotIn, and only then',
  ],
  [
    'ModelProvider',
    selecting({ matchExpressions: [{ key: 'a b', operator: 'Exists' }] }),
    `${place}.selector.matchExpressions[0].key`,
    'must be a valid label key',
  ],
  [
    'ModelProvider',
    selecting({ matchLabels: { team: 'a b' } }),
    `${place}.selector.matchLabels[team]`,
    'must be a valid label value',
    `${place}.selector.matchLabels.team: must be a valid label value`,
  ],
]

const countryCode = 'must be a country code of ISO 3166-1: two capital letters, such as DE'

const badProviders: readonly BadSpec[] = [
  ...['de', 'D1'].map((country): BadSpec => ['ModelProvider', { country }, 'spec.country', countryCode]),
  ...badAddresses,
  [
    'ModelProvider',
    { baseURL: 'https://me:secret@llm.example' },
    'spec.baseURL',
    'must not contain a user name or password',
  ],
  [
    'ModelProvider',
    { baseURL: 'http://llm.example' },
    'spec.baseURL',
    'is plain HTTP: use https, or set network.http to true to allow it',
  ],
  [
    'ModelProvider',
    { auth: { type: 'Bearer' } },
    'spec.auth.secretRef',
    bearers,
    'spec.auth.secretRef: Invalid input: expected object, received undefined',
  ],
  [
    'ModelProvider',
    { auth: { type: 'None', secretRef } },
    'spec.auth.secretRef',
    bearers,
    'spec.auth: Unrecognized key: "secretRef"',
  ],
  [
    'ModelProvider',
    { auth: { type: 'Header', secretRef } },
    'spec.auth.headerName',
    goesWith('Header'),
    'spec.auth.headerName: must be a valid HTTP header name',
  ],
  [
    'ModelProvider',
    { auth: { type: 'Bearer', headerName: 'x-key', secretRef } },
    'spec.auth.headerName',
    goesWith('Header'),
    'spec.auth: Unrecognized key: "headerName"',
  ],
  [
    'ModelProvider',
    { auth: { type: 'Basic' } },
    'spec.auth.type',
    'supported values: "None", "Bearer", "ApiKey", "Header"',
    "spec.auth.type: Invalid discriminator value. Expected 'None' | 'Bearer' | 'ApiKey' | 'Header'",
  ],
  [
    'ModelProvider',
    { auth: { type: 'Header', headerName: 'a b', secretRef } },
    'spec.auth.headerName',
    'must be a valid HTTP header name',
  ],
  [
    'ModelProvider',
    { auth: { type: 'Header', headerName: 'Upgrade', secretRef } },
    'spec.auth.headerName',
    'is a connection header, which the gateway sets itself',
  ],
  [
    'ModelProvider',
    { headers: [{ name: 'transfer-ENCODING', value: 'chunked' }] },
    'spec.headers[0].name',
    'is a connection header, which the gateway sets itself',
  ],
  [
    'ModelProvider',
    { headers: [{ name: 'a', value: 'b\r\nc: d' }] },
    'spec.headers[0].value',
    'must be a valid HTTP header value: printable ASCII characters, spaces and tabs',
  ],
  [
    'ModelProvider',
    {
      headers: [
        { name: 'a', value: '1' },
        { name: 'a', value: '2' },
      ],
    },
    'spec.headers[1]',
    'Duplicate value: {"name":"a"}',
    'spec.headers: must not contain the same header twice',
  ],
  [
    'ModelProvider',
    { healthCheck: { type: 'Ping' } },
    'spec.healthCheck.type',
    'supported values: "None", "ListModels"',
    'spec.healthCheck.type: Invalid option: expected one of "None"|"ListModels"',
  ],
  ...badSelectors,
]

const modelName = 'must be <provider>/<model>, without *'
const badRoutes: readonly BadSpec[] = [
  ...['gpt-4o', 'a/*', 'a*/b'].map((model): BadSpec => ['ModelRoute', { model }, 'spec.model', modelName]),
  ['ModelRoute', { fallbacks: ['gpt-4o'] }, 'spec.fallbacks[0]', modelName],
  [
    'ModelRoute',
    { fallbacks: ['openai/gpt-4o-mini'] },
    'spec.fallbacks',
    'must not contain the model of this route',
  ],
  [
    'ModelRoute',
    { free: undefined },
    'spec',
    'must have a price: set pricingRubPerMillionTokens, or set free to true',
  ],
  [
    'ModelRoute',
    priced({ output: undefined }),
    'spec.pricingRubPerMillionTokens',
    'must include output for a chat model',
  ],
  ...[
    { ...priced({}), free: true },
    { pricingRubPerRequest: '5' },
    { pricingRubPerRequest: '00.000000001' },
  ].map((change): BadSpec => ['ModelRoute', change, 'spec.free', 'must not be true when a price is set']),
  ...['1.0001', 'x', '', '-1', '1e3', '0x1', '1,5'].map(
    (input): BadSpec => [
      'ModelRoute',
      priced({ input }),
      'spec.pricingRubPerMillionTokens.input',
      'must be a quoted amount of rubles with at most 3 decimal places, such as "15.500"',
    ],
  ),
  [
    'ModelRoute',
    priced({ input: 15.5 }),
    'spec.pricingRubPerMillionTokens.input',
    'must be of type string',
    'spec.pricingRubPerMillionTokens.input: must be a quoted amount of rubles with at most 3 decimal places, such as "15.500"',
  ],
  [
    'ModelRoute',
    { pricingRubPerRequest: '0.0000000001' },
    'spec.pricingRubPerRequest',
    'must be a quoted amount of rubles, such as "0.10"',
  ],
  [
    'ModelRoute',
    { inputModalities: ['text', 'smell'] },
    'spec.inputModalities[1]',
    'supported values: "text", "image", "audio", "file", "video"',
    'spec.inputModalities[1]: Invalid option: expected one of "text"|"image"|"audio"|"file"|"video"',
  ],
  [
    'ModelRoute',
    { inputModalities: ['text', 'text'] },
    'spec.inputModalities[1]',
    'Duplicate value: "text"',
    'spec.inputModalities: must not contain the same kind of input twice',
  ],
  [
    'ModelRoute',
    { capabilities: ['tools', 'tools'] },
    'spec.capabilities[1]',
    'Duplicate value: "tools"',
    'spec.capabilities: must not contain the same capability twice',
  ],
  [
    'ModelRoute',
    { backends: [backend, backend] },
    'spec.backends[1]',
    'Duplicate value: {"name":"main"}',
    'spec.backends: must not contain two backends with the same name',
  ],
  [
    'ModelRoute',
    { backends: [] },
    'spec.backends',
    'should have at least 1 items',
    'spec.backends: Too small: expected array to have >=1 items',
  ],
  [
    'ModelRoute',
    { backends: [{ ...backend, weight: 0 }] },
    'spec.backends',
    'must include at least one backend with a weight above 0',
  ],
  [
    'ModelRoute',
    { backends: [{ ...backend, name: 'A' }] },
    'spec.backends[0].name',
    'must be at most 63 lowercase letters, digits and hyphens',
  ],
  ['ModelRoute', { timeouts: { request: '90' } }, 'spec.timeouts.request', span],
  [
    'ModelRoute',
    { timeouts: { request: '1h30m' } },
    'spec.timeouts.request',
    'must be between 0.1s and 3600s',
  ],
  [
    'ModelRoute',
    { timeouts: { request: '30s', firstByte: '31s' } },
    'spec.timeouts.firstByte',
    'must not be longer than request',
  ],
  [
    'ModelRoute',
    { parameters: { rename: { [long(129)]: 'b' } } },
    'spec.parameters.rename',
    'must have keys of 1 to 128 characters',
  ],
  [
    'ModelRoute',
    { parameters: { rename: { a: 'n' } } },
    'spec.parameters.rename',
    'must not rename a parameter to n, model, messages, input or stream: only the request may set these',
  ],
  [
    'ModelRoute',
    { access: { scope: 'Organizations' } },
    'spec.access.organizations',
    'must be set when scope is Organizations, and only then',
    'spec.access.organizations: Invalid input: expected array, received undefined',
  ],
  [
    'ModelRoute',
    { access: { scope: 'All', organizations: ['acme'] } },
    'spec.access.organizations',
    'must be set when scope is Organizations, and only then',
    'spec.access: Unrecognized key: "organizations"',
  ],
]

const unstorable = 'must not contain U+0000 or an unpaired surrogate: the database cannot store them'
/** The API server makes U+FFFD of half a surrogate pair by itself. */
const badTexts: readonly BadSpec[] = [
  ['ApiKey', { displayName: 'a\0b' }, 'spec.displayName', unstorable],
  ['ApiKey', { rotation: { trigger: '\0' } }, 'spec.rotation.trigger', unstorable],
  ['ModelRoute', { displayName: '\0' }, 'spec.displayName', unstorable],
  ['ModelRoute', { description: 'a\0' }, 'spec.description', unstorable],
  ['ModelRoute', { backends: [{ ...backend, model: 'a\0' }] }, 'spec.backends[0].model', unstorable],
  ['ModelRoute', { parameters: { drop: ['a\0'] } }, 'spec.parameters.drop[0]', unstorable],
  ['ModelRoute', { parameters: { rename: { 'a\0': 'b' } } }, 'spec.parameters.rename', unstorable],
  [
    'ModelRoute',
    { parameters: { rename: { a: 'b\0' } } },
    'spec.parameters.rename[a]',
    unstorable,
    `spec.parameters.rename.a: ${unstorable}`,
  ],
]

/** Rejected by zod and by the API server alike. */
export const badSpecs: readonly BadSpec[] = [...badKeys, ...badProviders, ...badRoutes, ...badTexts]
