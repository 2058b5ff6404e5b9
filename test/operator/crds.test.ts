import { globSync, readFileSync, statSync } from 'node:fs'
import { describe, expect, test, vi } from 'vitest'
import { parse } from 'yaml'
import { apiVersion } from '#crds/resource'
import { clusterOfThisFile } from '../support/cluster.ts'
import { badSpecs } from './bad-specs.ts'
import { goodSpecs } from './good-specs.ts'
import { bareSpecs, faultsOf, type Kind, objectOf, schemas } from './specs.ts'

const cluster = await clusterOfThisFile()
const namespace = await cluster.createNamespace()
const files = globSync('crds/*.yaml')
/** Names of 64 characters and more break code that uses an object's name as a label. */
const longName = 'x'.repeat(253)

const pathOf = (kind: Kind, inside = namespace) =>
  `/apis/${apiVersion}/namespaces/${inside}/${kind.toLowerCase()}s`
/** As kubectl asks: unknown fields are errors. */
const tryCreate = (kind: Kind, object: object) =>
  cluster.request('POST', `${pathOf(kind)}?dryRun=All&fieldValidation=Strict`, object)

async function create(kind: Kind, object: object, inside = namespace) {
  const { status, body } = await cluster.request('POST', pathOf(kind, inside), object)
  expect({ status, body }).toMatchObject({ status: 201 })
  return body as { metadata: { name: string; resourceVersion: string }; spec: object; status?: object }
}

/** As users write them: they must go on being accepted, to the field. */
const contract = `
apiVersion: ${apiVersion}
kind: ApiKey
metadata: {name: ci}
spec:
  organization: acme
  displayName: CI pipeline
  suspend: false
  expiresAt: "2027-06-01T00:00:00Z"
  allowedModels: ["openai/gpt-4o-mini", "anthropic/*"]
  allowedIPs: ["203.0.113.7", "2001:db8::/32"]
  tags: ["team-a", "2026.q4"]
  limits: {requestsPerMinute: 600, tokensPerMinute: 200000, dailyBudgetRub: "250.00"}
  readBalance: false
  keepsResponsesHours: 24
  secret: {name: ci-apikey, key: OPENAI_API_KEY, baseURLKey: OPENAI_BASE_URL}
  rotation: {trigger: "2026-11-20", gracePeriod: 24h}
  deletionPolicy: Revoke
---
apiVersion: ${apiVersion}
kind: ModelProvider
metadata: {name: openai}
spec:
  api: OpenAI
  baseURL: https://api.openai.com/v1
  network: {http: false, privateAddresses: false}
  auth: {type: Bearer, secretRef: {name: openai, key: apiKey}}
  headers: []
  limits: {requestsPerMinute: 5000}
  tls: {caSecretRef: {name: corp-ca}}
---
apiVersion: ${apiVersion}
kind: ModelRoute
metadata: {name: gpt-4o-mini}
spec:
  model: openai/gpt-4o-mini
  type: chat
  displayName: GPT-4o mini
  description: …
  inputModalities: [text, image]
  contextLength: 128000
  maxOutputTokens: 16384
  defaultOutputTokens: 4096
  backends: [{name: main, providerRef: {name: openai}, model: gpt-4o-mini-2024-07-18, priority: 0, weight: 80}]
  fallbacks: ["openai/gpt-3.5-turbo"]
  timeouts: {request: 10m, firstByte: 60s, streamIdle: 60s}
  retry: {attempts: 2}
  parameters: {drop: [seed], rename: {}, defaults: {}}
  pricingRubPerMillionTokens: {input: "15.500", cachedInput: "7.750", cacheWrite: "18.600", output: "62.000", reasoning: "62.000"}
  pricingRubPerRequest: "0"
  access: {scope: All}
---
apiVersion: ${apiVersion}
kind: ApiKeyQuota
metadata: {name: team-a}
spec:
  apiKeys: 20
  totalDailyBudgetRub: "1000.00"
  perKey: {requestsPerMinute: 600, tokensPerMinute: 200000, dailyBudgetRub: "100.00"}
  allowedModels: ["openai/*", "anthropic/claude"]
  rotation: {minInterval: 24h, maxGracePeriod: 72h}
`

/** Every field of every status, and conditions as the operator writes them. */
const conditions = [
  {
    type: 'Ready',
    status: 'True',
    reason: 'Programmed',
    message: 'it serves',
    observedGeneration: 1,
    lastTransitionTime: '2026-11-21T10:00:00Z',
  },
]
const statuses: Readonly<Record<Kind, object>> = {
  ApiKey: {
    observedGeneration: 1,
    keyID: '0198a0b0-0000-7000-8000-000000000000',
    keyPrefix: 'sk-gateway-8f3a…k2Qd',
    managedBy: 'kubernetes',
    secretRef: { name: 'ci-apikey', key: 'OPENAI_API_KEY' },
    rotation: {
      observedTrigger: '2026-11-20',
      lastRotated: '2026-11-20T10:00:00Z',
      nextRotation: '2027-02-18T10:00:00Z',
      previousKeyExpiresAt: '2026-11-21T10:00:00Z',
    },
    conditions,
  },
  ModelProvider: { observedGeneration: 1, conditions },
  ModelRoute: {
    observedGeneration: 1,
    revision: 42,
    backendsReady: '1/2',
    backends: [{ name: 'main', healthy: false, message: 'answers 500' }],
    conditions,
  },
}
const kinds = Object.keys(schemas) as readonly Kind[]

test('the definitions install without a warning, and small enough for kubectl apply', async () => {
  for (const file of files) {
    expect(statSync(file).size).toBeLessThan(256 * 1024)
    // Under a separate group they are new to this cluster.
    const text = readFileSync(file, 'utf8').replaceAll(/\bmodelgateway\.dev$/gm, 'new.modelgateway.dev')
    const args = ['create', '--dry-run=server', '--warnings-as-errors', '-f', '-']
    expect(await cluster.kubectl(args, text)).toMatchObject({ code: 0, stderr: '' })
  }
  // With ApiKeyQuota, of which no controller writes a status.
  expect(files).toHaveLength(kinds.length + 1)
})

test('resources are accepted as users write them', async () => {
  const args = ['-n', await cluster.createNamespace(), 'apply', '--warnings-as-errors', '-f', '-']
  expect(await cluster.kubectl(args, contract)).toMatchObject({ code: 0, stderr: '' })
})

/** Fields that the release before does not know: their defaults are the reader's, or its operator would reject every object. */
const unwritten: Readonly<Record<Kind, readonly string[]>> = {
  ApiKey: ['adoption'],
  ModelProvider: ['allowedRoutes', 'healthCheck'],
  ModelRoute: ['inputModalities'],
}

test.each(kinds)(
  'the API server fills in the same defaults for a bare %s as zod, but for new fields',
  async (kind) => {
    const object = objectOf(kind, {}, 'bare')
    const { spec } = schemas[kind].parse(object)
    const written = Object.entries(spec).filter(([field]) => !unwritten[kind].includes(field))
    expect((await create(kind, object)).spec).toEqual(Object.fromEntries(written))
  },
)

describe('zod and the API server take the same', () => {
  test.each(goodSpecs)('%s %j', async (kind, change) => {
    const object = objectOf(kind, change)
    expect(faultsOf(kind, object)).toEqual([])
    expect(await tryCreate(kind, object)).toMatchObject({ status: 201 })
  })
})

describe('zod and the API server reject the same, and report which field and why', () => {
  for (const [kind, change, field, says, zodSays = `${field}: ${says}`] of badSpecs)
    test(`${kind} ${JSON.stringify(change).slice(0, 100)}`, async () => {
      const object = objectOf(kind, change)
      expect(faultsOf(kind, object)).toContain(zodSays)
      const { status, body } = await tryCreate(kind, object)
      expect([400, 422]).toContain(status)
      const { message } = body as { message: string }
      expect(message).toContain(`${field}: `)
      expect(message).toContain(says)
    })
})

describe('changes of immutable fields are rejected, with the reason', () => {
  const cases: readonly [Kind, string, object, object, string][] = [
    [
      'ApiKey',
      'spec.organization',
      {},
      { organization: 'other' },
      'is immutable: usage and balance belong to the organization; create a new ApiKey instead',
    ],
    ...[
      [{ name: 'a' }, { name: 'b' }],
      [{ name: 'a' }, {}],
      [{}, { name: 'a' }],
    ].map(([before, after]): [Kind, string, object, object, string] => [
      'ApiKey',
      'spec.secret.name',
      { secret: before },
      { secret: after },
      'is immutable: pods read the key from this Secret; create a new ApiKey instead',
    ]),
    [
      'ModelRoute',
      'spec.model',
      {},
      { model: 'openai/other' },
      'is immutable: create a second ModelRoute, then delete this one',
    ],
  ]
  test.each(cases)('%s %s %j → %j', async (kind, field, before, after, says) => {
    const name = `immutable-${Math.random().toString(36).slice(2)}`
    const { metadata } = await create(kind, objectOf(kind, before, name))
    const changed = { ...objectOf(kind, { ...before, ...after }, name), metadata }
    const { status, body } = await cluster.request('PUT', `${pathOf(kind)}/${name}`, changed)
    expect(status).toBe(422)
    expect((body as { message: string }).message).toContain(`${field}: Forbidden: ${says}`)
  })

  test('every rule of a definition is in one of these tables', () => {
    const shown = [...badSpecs.map(([, , , says]) => says), ...cases.map(([, , , , says]) => says)]
    const rules = files.flatMap((file) => messagesOf(parse(readFileSync(file, 'utf8'))))
    expect(rules.length).toBeGreaterThan(50)
    expect([...new Set(rules)].filter((message) => !shown.includes(message))).toEqual([])
  })
})

/** Messages of all rules within a definition. */
function messagesOf(schema: unknown): readonly string[] {
  if (typeof schema !== 'object' || schema === null) return []
  const { 'x-kubernetes-validations': rules = [] } = schema as {
    'x-kubernetes-validations'?: { message: string }[]
  }
  return [...rules.map(({ message }) => message), ...Object.values(schema).flatMap(messagesOf)]
}

test.each(kinds)('a %s may have a name of 253 characters', async (kind) => {
  const object = objectOf(kind, {}, longName)
  expect(faultsOf(kind, object)).toEqual([])
  await create(kind, object)
})

test.each(kinds)('every field of the status of a %s is kept, and only /status writes it', async (kind) => {
  const { metadata } = await create(kind, { ...objectOf(kind, {}, 'status'), status: statuses[kind] })
  const path = `${pathOf(kind)}/status`
  expect((await cluster.request('GET', path)).body).not.toHaveProperty('status')
  const written = { ...objectOf(kind, { suspend: true }, 'status'), metadata, status: statuses[kind] }
  const { status, body } = await cluster.request('PUT', `${path}/status`, written)
  expect(status).toBe(200)
  expect(body).toMatchObject({ status: statuses[kind], spec: bareSpecs[kind] })
  expect(body).not.toHaveProperty('spec.suspend', true)
  expect(schemas[kind].safeParse(body).error).toBeUndefined()
})

describe('kubectl shows what matters', async () => {
  const inside = await cluster.createNamespace()
  const rows = async (...args: string[]) =>
    (await cluster.kubectlOk(['-n', inside, 'get', ...args]))
      .trim()
      .split('\n')
      .map((line) => line.split(/ {2,}/).map((cell) => cell.trim()))

  test('in columns, more of them with -o wide, by short names and as a category', async () => {
    await cluster.kubectlOk(['-n', inside, 'apply', '-f', '-'], contract)
    for (const [kind, name] of [
      ['ApiKey', 'ci'],
      ['ModelProvider', 'openai'],
      ['ModelRoute', 'gpt-4o-mini'],
    ] as const) {
      const path = `${pathOf(kind, inside)}/${name}`
      const object = (await cluster.request('GET', path)).body as object
      expect(
        await cluster.request('PUT', `${path}/status`, { ...object, status: statuses[kind] }),
      ).toMatchObject({
        status: 200,
      })
    }
    const age = expect.stringMatching(/^\d+[smhd]/)
    expect(await rows('mgkey')).toEqual([
      ['NAME', 'DISPLAY-NAME', 'ORGANIZATION', 'READY', 'REASON', 'PREFIX', 'SECRET', 'AGE'],
      ['ci', 'CI pipeline', 'acme', 'True', 'Programmed', 'sk-gateway-8f3a…k2Qd', 'ci-apikey', age],
    ])
    expect(await rows('mgkey', '-o', 'wide')).toEqual([
      [
        'NAME',
        'DISPLAY-NAME',
        'ORGANIZATION',
        'READY',
        'REASON',
        'PREFIX',
        'SECRET',
        'AGE',
        'EXPIRES',
        'RPM',
        'TPM',
        'BUDGET',
        'ROTATED',
        'ROTATES',
        'MANAGED-BY',
        'KEY-ID',
      ],
      [
        'ci',
        'CI pipeline',
        'acme',
        'True',
        'Programmed',
        'sk-gateway-8f3a…k2Qd',
        'ci-apikey',
        age,
        '2027-06-01T00:00:00Z',
        '600',
        '200000',
        '250.00',
        age,
        '2027-02-18T10:00:00Z',
        'kubernetes',
        '0198a0b0-0000-7000-8000-000000000000',
      ],
    ])
    expect(await rows('mgprovider', '-o', 'wide')).toEqual([
      ['NAME', 'API', 'READY', 'REASON', 'AGE', 'URL', 'RPM'],
      ['openai', 'OpenAI', 'True', 'Programmed', age, 'https://api.openai.com/v1', '5000'],
    ])
    expect(await rows('mgroute', '-o', 'wide')).toEqual([
      ['NAME', 'DISPLAY-NAME', 'MODEL', 'READY', 'REASON', 'BACKENDS', 'AGE', 'IN/1M', 'OUT/1M', 'REVISION'],
      [
        'gpt-4o-mini',
        'GPT-4o mini',
        'openai/gpt-4o-mini',
        'True',
        'Programmed',
        '1/2',
        age,
        '15.500',
        '62.000',
        '42',
      ],
    ])
    expect(await cluster.kubectlOk(['-n', inside, 'get', 'model-gateway', '-o', 'name'])).toBe(
      [
        'apikeyquota.modelgateway.dev/team-a',
        'apikey.modelgateway.dev/ci',
        'modelprovider.modelgateway.dev/openai',
        'modelroute.modelgateway.dev/gpt-4o-mini\n',
      ].join('\n'),
    )
  })

  test('in words, from the kind down to its conditions', async () => {
    for (const [path, words] of [
      ['apikey', 'An API key of an organization'],
      ['modelprovider.spec', 'Where the provider is'],
      ['modelroute.status', 'Written by the operator'],
      ['apikey.status.conditions', 'SecretReady: the Secret holds the API key'],
      ['modelroute.status.conditions.message', 'how to fix it'],
    ] as const)
      await vi.waitFor(async () =>
        // kubectl breaks its lines.
        expect((await cluster.kubectlOk(['explain', path])).replaceAll(/\s+/g, ' ')).toContain(words),
      )
  })

  test('selected by organization, model and api', async () => {
    await create('ApiKey', objectOf('ApiKey', { organization: 'other' }, 'other'), inside)
    await create('ModelRoute', objectOf('ModelRoute', { model: 'a/b' }, 'other'), inside)
    await create('ModelProvider', objectOf('ModelProvider', { api: 'Gemini' }, 'other'), inside)
    for (const [resource, selector] of [
      ['apikeys', 'spec.organization=other'],
      ['modelroutes', 'spec.model=a/b'],
      ['modelproviders', 'spec.api=Gemini'],
    ] as const)
      expect(
        await cluster.kubectlOk(['-n', inside, 'get', resource, '--field-selector', selector, '-o', 'name']),
      ).toMatch(/^\S+\/other\n$/)
  })

  test('and explains what may not be changed', async () => {
    for (const field of ['apikeys.spec.organization', 'modelroutes.spec.model'])
      expect(await cluster.kubectlOk(['explain', field])).toContain('Immutable.')
  })
})
