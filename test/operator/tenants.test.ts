import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { apiKeysMaxDefault } from '#crds/api-key-quota'
import { apiVersion } from '#crds/resource'
import type { ClusterObject } from '#operator/runtime/cluster-object'
import { conditionsOf } from '#operator/runtime/conditions'
import { apiKeyQuotas, apiKeys } from '#operator/runtime/resources'
import { type ClusterUser, deployed } from '../support/cluster.ts'
import { freshName, liveKeysOfThisFile } from '../support/live-keys.ts'
import { shellBlocksOf, yamlBlocksOf } from '../support/readme-commands.ts'

// With no more permissions than an installation gives, to the operator and to tenants.
const live = await liveKeysOfThisFile({ deploy: 'installed', controllers: 'running' })
const { cluster, client, pool, gateway, createTeam, gatewayStatus, untilStatus } = live

type Team = Awaited<ReturnType<typeof createTeam>>

/** What the cluster's role `edit` consists of, where a controller aggregates it. */
const editRoles = [
  'system:aggregate-to-edit',
  'system:aggregate-to-view',
  'model-gateway-edit',
  'model-gateway-view',
]

/** A user who may edit one namespace, as members of a team may. */
async function createEditor({ namespace }: Team) {
  const name = `editor-${randomBytes(4).toString('hex')}`
  for (const role of editRoles) {
    const binding = `${name}-${role.replaceAll(':', '-')}`
    const args = ['create', 'rolebinding', binding, `--clusterrole=${role}`, `--user=${name}`]
    await cluster.kubectlOk(['-n', namespace, ...args])
  }
  const user = await cluster.addUser(name)
  const mayCreate = ['auth', 'can-i', 'create', 'apikeys.modelgateway.dev', '-n', namespace]
  await vi.waitFor(async () => expect((await user.kubectl(mayCreate)).code).toBe(0), waiting)
  return user
}

const waiting = { timeout: 20_000, interval: 50 }

async function putQuota({ namespace }: Team, spec: object, name = 'quota'): Promise<void> {
  const put = await client.apply(apiKeyQuotas, { metadata: { namespace, name }, spec })
  if (put === 'conflict') throw new Error('conflict')
}

async function removeQuota({ namespace }: Team, name = 'quota'): Promise<void> {
  const found = await client.find(apiKeyQuotas, { namespace, name })
  if (found !== undefined) await client.remove(apiKeyQuotas, found)
}

/** Once the policy has the quota, and not the one before: the API server takes a while. */
async function untilInForce(team: Team, refusedSpec: object): Promise<void> {
  await vi.waitFor(async () => expect(await tryCreate(team, refusedSpec)).not.toBe(201), waiting)
}

async function tryCreate(
  { namespace, organization }: Team,
  spec: object,
  by: typeof cluster.request = cluster.request,
) {
  const object = {
    apiVersion,
    kind: 'ApiKey',
    metadata: { name: freshName() },
    spec: { organization, ...spec },
  }
  const path = `/apis/${apiVersion}/namespaces/${namespace}/apikeys?dryRun=All`
  const { status, body } = await by('POST', path, object)
  return status === 201 ? 201 : (body as { message: string }).message
}

const limitsOf = async (keyId: string) => {
  const { rows } = await pool.query(
    'select rpm, tpm, daily_budget_nano, allowed_models, read_balance from api_keys where id = $1',
    [keyId],
  )
  return rows[0]
}

async function createReady(team: Team, spec: object = {}, reason = 'Programmed') {
  const name = freshName()
  await team.apply(name, spec)
  await team.untilReady(name, reason)
  const { OPENAI_API_KEY: text = '' } = await valuesOf(team, name)
  return { name, text, keyId: keyIdOf(await team.find(name)) }
}

async function valuesOf(team: Team, name: string): Promise<Record<string, string>> {
  const { data = {} } = (await team.secret(`${name}-apikey`)) ?? {}
  return Object.fromEntries(
    Object.entries(data).map(([entry, value]) => [entry, Buffer.from(value, 'base64').toString()]),
  )
}

const keyIdOf = (object: ClusterObject | undefined): string => Object(object?.status).keyID

const strict = {
  perKey: { requestsPerMinute: 60, tokensPerMinute: 1000, dailyBudgetRub: '10.50' },
  allowedModels: ['a/one', 'b/*'],
  rotation: { minInterval: '24h', maxGracePeriod: '1h' },
}

test.each<[string, object, string]>([
  [
    'a rate of requests',
    { limits: { requestsPerMinute: 61 } },
    'lower it to spec.perKey.requestsPerMinute of the quota',
  ],
  [
    'a rate of tokens',
    { limits: { tokensPerMinute: 1001 } },
    'lower it to spec.perKey.tokensPerMinute of the quota',
  ],
  ['a budget', { limits: { dailyBudgetRub: '10.500000001' } }, 'spec.limits.dailyBudgetRub up to 10.50'],
  ['a model', { allowedModels: ['b/x', 'a/two'] }, 'does not allow a/two: it allows a/one, b/*'],
  ['all models of a provider', { allowedModels: ['a/*'] }, 'does not allow a/*'],
])('an ApiKey above its quota is rejected: %s', async (_, spec, message) => {
  const team = await strictTeam()
  expect(await tryCreate(team, spec)).toContain(message)
})

test('an ApiKey within its quota is accepted, to the last digit', async () => {
  const team = await strictTeam()
  const spec = {
    limits: { requestsPerMinute: 60, tokensPerMinute: 1000, dailyBudgetRub: '10.5' },
    allowedModels: ['a/one', 'b/x', 'b/*'],
  }
  expect(await tryCreate(team, spec)).toBe(201)
  expect(await tryCreate(team, {})).toBe(201)
})

let strictOne: Promise<Team> | undefined
/** One for all tests that create nothing. */
function strictTeam(): Promise<Team> {
  strictOne ??= (async () => {
    const team = await createTeam()
    await putQuota(team, strict)
    await untilInForce(team, { limits: { requestsPerMinute: 61 } })
    return team
  })()
  return strictOne
}

test('a lowered quota applies to keys that exist, with a condition, and a raised one again', async () => {
  const team = await createTeam()
  const asked = {
    limits: { requestsPerMinute: 600, dailyBudgetRub: '100' },
    allowedModels: ['a/one', 'c/x'],
    rotation: { interval: '2h', gracePeriod: '90m' },
  }
  const { name, text, keyId } = await createReady(team, asked)
  await putQuota(team, strict)
  const { Accepted, Ready } = await team.untilReady(name, 'Capped')
  expect(Accepted).toMatchObject({ status: 'True', reason: 'Capped' })
  expect(Ready).toMatchObject({ status: 'True' })
  for (const part of [
    'limits.requestsPerMinute: 60',
    '"10.5"',
    '["a/one"]',
    'interval: 86400s',
    'gracePeriod: 3600s',
    'ask a cluster admin',
  ])
    expect(Ready?.message).toContain(part)
  expect(await limitsOf(keyId)).toMatchObject({
    rpm: 60,
    tpm: 1000,
    daily_budget_nano: 10_500_000_000n,
    allowed_models: ['a/one'],
  })
  expect(await gatewayStatus(gateway, text)).toBe(200)
  // What it asked for before may stay, while other fields change.
  await team.apply(name, { ...asked, displayName: 'renamed' })
  await team.untilReady(name, 'Capped')
  await removeQuota(team)
  await team.untilReady(name)
  expect(await limitsOf(keyId)).toMatchObject({ rpm: 600, tpm: null, allowed_models: ['a/one', 'c/x'] })
})

test('the oldest ApiKeys have keys, as many as the quota allows; the others are blocked until it is raised', async () => {
  const team = await createTeam()
  const first = await createReady(team)
  const second = await createReady(team)
  await putQuota(team, { apiKeys: 1 })
  // Both may have been created in the same second: then their names decide.
  const [kept, over] = (await inOrder(team)).map((name) => (name === first.name ? first : second))
  if (kept === undefined || over === undefined) throw new Error('there are two')
  const { Accepted } = await team.untilReady(over.name, 'QuotaExceeded')
  expect(Accepted?.message).toContain('has 2 ApiKeys and may have 1')
  await untilStatus(over.text, 403)
  expect(await gatewayStatus(gateway, kept.text)).toBe(200)
  await team.remove(kept.name)
  await team.untilReady(over.name)
  await untilStatus(over.text, 200)
})

/** The names of its ApiKeys as a quota has them: by age, then by name. */
async function inOrder(team: Team): Promise<readonly string[]> {
  const order = ({ metadata }: ClusterObject) => `${metadata.creationTimestamp} ${metadata.name}`
  return (await keysOf(team)).toSorted(by(order)).map(({ metadata }) => metadata.name)
}

const by = (text: (object: ClusterObject) => string) => (one: ClusterObject, other: ClusterObject) =>
  text(one) < text(other) ? -1 : 1

async function keysOf({ namespace }: Team): Promise<readonly ClusterObject[]> {
  const { signal } = new AbortController()
  const page = await client.list(apiKeys, { namespace, pageSize: 500, continueToken: '', signal })
  if (page === 'expired') throw new Error('expired')
  return page.objects
}

test('budgets add up to the total: the older come first', async () => {
  const team = await createTeam()
  await putQuota(team, { totalDailyBudgetRub: '100' })
  await untilInForce(team, {})
  expect(await tryCreate(team, {})).toContain('set spec.limits.dailyBudgetRub')
  const budget = { limits: { dailyBudgetRub: '60' } }
  for (const name of ['a', 'b', 'c']) await team.apply(name, budget)
  const reasons = async () =>
    (await keysOf(team))
      .map((object) => conditionsOf(object).find(({ type }) => type === 'Ready')?.reason ?? '')
      .toSorted()
  await vi.waitFor(
    async () => expect(await reasons()).toEqual(['Capped', 'Programmed', 'QuotaExceeded']),
    waiting,
  )
  const [oldest = ''] = await inOrder(team)
  await team.remove(oldest)
  await vi.waitFor(async () => expect(await reasons()).toEqual(['Capped', 'Programmed']), waiting)
})

test('a permission of the namespace applies within seconds, and so does its withdrawal', async () => {
  const team = await createTeam()
  const spec = { readBalance: true }
  expect(await tryCreate(team, spec)).toContain('add readBalance to the annotation modelgateway.dev/keys-may')
  expect(await tryCreate(team, { deletionPolicy: 'Orphan' })).toContain('set spec.deletionPolicy to Revoke')
  await permit(team, 'readBalance')
  await vi.waitFor(async () => expect(await tryCreate(team, spec)).toBe(201), waiting)
  const { name, keyId } = await createReady(team, spec)
  expect(await limitsOf(keyId)).toMatchObject({ read_balance: true })
  await permit(team, '')
  const { Ready } = await team.untilReady(name, 'Capped')
  expect(Ready?.message).toContain('readBalance: false')
  expect(await limitsOf(keyId)).toMatchObject({ read_balance: false })
})

const permit = ({ namespace }: Team, keysMay: string) =>
  cluster.kubectlOk([
    'annotate',
    '--overwrite',
    'namespace',
    namespace,
    `modelgateway.dev/keys-may=${keysMay}`,
  ])

test('the examples of the guide apply', async () => {
  const team = await createTeam()
  const [quota = ''] = yamlBlocksOf('ApiKeyQuota', 'docs/operate/tenants.md')
  await cluster.kubectlOk(['-n', team.namespace, 'apply', '-f', '-'], quota)
  await untilInForce(team, { allowedModels: ['other/model'] })
  const [annotate = ''] = shellBlocksOf('Permissions', 'docs/operate/tenants.md')
  const [, ...args] = annotate
    .trim()
    .replace('team-a', team.namespace)
    .replaceAll("'", '')
    .split(/ (?!orphan)/)
  await cluster.kubectlOk(args)
  await vi.waitFor(
    async () => expect(await tryCreate(team, { readBalance: true, deletionPolicy: 'Orphan' })).toBe(201),
    waiting,
  )
  await createReady(team, { readBalance: true, allowedModels: ['demo/echo'] })
})

test.each([
  ['is removed', 'modelgateway.dev/organization-'],
  ['changes', 'modelgateway.dev/organization=another'],
])('when the label of a namespace %s, its keys end; when it is back, they are new', async (_, label) => {
  const team = await createTeam()
  const { name, text, keyId } = await createReady(team)
  await annotateOverride(team, name)
  await cluster.kubectlOk(['label', '--overwrite', 'namespace', team.namespace, label])
  await untilStatus(text, 401)
  await team.untilReady(name, 'NamespaceNotAllowed')
  expect(await stateOf(keyId)).toMatchObject({ revoked: true })
  const back = `modelgateway.dev/organization=${team.organization}`
  await cluster.kubectlOk(['label', '--overwrite', 'namespace', team.namespace, back])
  await team.untilReady(name)
  const { OPENAI_API_KEY: next = '' } = await valuesOf(team, name)
  expect(next).not.toBe(text)
  await untilStatus(next, 200)
})

test.each([
  ['', 401, { revoked: true }],
  ['orphan', 200, { revoked: false, managed_by: 'cabinet' }],
])(
  'a deleted namespace with the permissions "%s" leaves a key that gateways answer with %i',
  async (keysMay, status, row) => {
    const team = await createTeam('orphan')
    const { name, text, keyId } = await createReady(team, { deletionPolicy: 'Orphan' })
    await annotateOverride(team, name)
    await permit(team, keysMay)
    if (keysMay === '') await team.untilReady(name, 'Capped')
    await cluster.kubectlOk(['delete', 'namespace', team.namespace, '--wait=false'])
    await vi.waitFor(async () => expect(await stateOf(keyId)).toMatchObject(row), waiting)
    await untilStatus(text, status)
  },
)

/** Break-glass, which is not the tenant's to use. */
const annotateOverride = ({ namespace }: Team, name: string) =>
  cluster.kubectlOk([
    '-n',
    namespace,
    'annotate',
    'apikey',
    name,
    'modelgateway.dev/deletion-policy-override=Orphan',
  ])

async function stateOf(keyId: string) {
  const { rows } = await pool.query(
    'select revoked_at is not null as revoked, managed_by from api_keys where id = $1',
    [keyId],
  )
  return rows[0]
}

test('an ApiKey rotates at most once a minute, and at most three of its API keys are valid', async () => {
  const team = await createTeam()
  const { name, keyId } = await createReady(team, { rotation: { trigger: '0', gracePeriod: '2160h' } })
  const liveCount = async () => {
    const { rowCount } = await pool.query(
      'select from api_key_credentials where key_id = $1 and revoked_at is null and (valid_until is null or valid_until > now())',
      [keyId],
    )
    return rowCount
  }
  const untilNoted = (trigger: string) =>
    vi.waitFor(async () => {
      const { rows } = await pool.query('select rotation_trigger from cluster_resources where subject = $1', [
        keyId,
      ])
      expect(rows[0].rotation_trigger).toBe(trigger)
    }, waiting)
  for (const trigger of ['1', '2', '3', '4']) {
    await team.apply(name, { rotation: { trigger, gracePeriod: '2160h' } })
    if (trigger !== '1') {
      await vi.waitFor(async () => expect(await team.events(name)).toContain('RotationDelayed'), waiting)
      expect(await untilReason(team, name, 'SecretReady', 'RotationDelayed')).toMatchObject({
        status: 'True',
      })
      // As if a minute had passed.
      await pool.query(
        "update cluster_resources set rotated_at = rotated_at - interval '1 minute' where subject = $1",
        [keyId],
      )
      await cluster.kubectlOk([
        '-n',
        team.namespace,
        'annotate',
        '--overwrite',
        'apikey',
        name,
        `example.com/asks=${trigger}`,
      ])
    }
    await untilNoted(trigger)
    expect(await liveCount()).toBe(Math.min(Number(trigger) + 1, 3))
  }
})

const untilReason = (team: Team, name: string, type: string, reason: string) =>
  vi.waitFor(async () => {
    const object = await team.find(name)
    const condition = (object === undefined ? [] : conditionsOf(object)).find((each) => each.type === type)
    expect(condition?.reason).toBe(reason)
    return condition
  }, waiting)

describe('a tenant with edit rights in one namespace', () => {
  let team: Team
  let other: Team
  let tenant: ClusterUser
  let victim: Awaited<ReturnType<typeof createReady>>

  beforeAll(async () => {
    team = await createTeam()
    other = await createTeam()
    await putQuota(team, strict)
    victim = await createReady(other)
    tenant = await createEditor(team)
    await untilInForce(team, { limits: { requestsPerMinute: 61 } })
  })

  const root = `/apis/${apiVersion}/namespaces`
  const keysIn = ({ namespace }: Team) => `${root}/${namespace}/apikeys`
  const key = (spec: object = {}, metadata: object = {}) => ({
    apiVersion,
    kind: 'ApiKey',
    metadata: { name: freshName(), ...metadata },
    spec: { organization: team.organization, ...spec },
  })
  const quota = { apiVersion, kind: 'ApiKeyQuota', metadata: { name: 'mine' }, spec: { apiKeys: 100_000 } }
  const secretOf = ({ namespace }: Team, name = '') => `/api/v1/namespaces/${namespace}/secrets${name}`
  const template = (names: object) => ({ secret: { template: { annotations: names } } })
  type Attack = readonly [method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: object]

  test.each<[string, () => Attack, refusal: string]>([
    [
      'charges another organization',
      () => ['POST', keysIn(team), key({ organization: other.organization })],
      'and may not use org-',
    ],
    [
      'creates a key in another namespace',
      () => ['POST', keysIn(other), key({ organization: other.organization })],
      'cannot create resource "apikeys"',
    ],
    ['lists keys of another namespace', () => ['GET', keysIn(other)], 'cannot list resource "apikeys"'],
    [
      'deletes a key of another namespace',
      () => ['DELETE', `${keysIn(other)}/${victim.name}`],
      'cannot delete resource "apikeys"',
    ],
    [
      'reads a Secret of another namespace',
      () => ['GET', secretOf(other, `/${victim.name}-apikey`)],
      'cannot get resource "secrets"',
    ],
    [
      'raises its rate of requests',
      () => ['POST', keysIn(team), key({ limits: { requestsPerMinute: 2_147_483_647 } })],
      'allows a lower spec.limits.requestsPerMinute',
    ],
    [
      'raises its rate of tokens',
      () => ['POST', keysIn(team), key({ limits: { tokensPerMinute: 2_147_483_647 } })],
      'allows a lower spec.limits.tokensPerMinute',
    ],
    [
      'raises its budget',
      () => ['POST', keysIn(team), key({ limits: { dailyBudgetRub: '999999999' } })],
      'allows spec.limits.dailyBudgetRub up to 10.50',
    ],
    [
      'writes a negative budget',
      () => ['POST', keysIn(team), key({ limits: { dailyBudgetRub: '-1' } })],
      'must be a quoted amount of rubles',
    ],
    [
      'uses a model that is not allowed',
      () => ['POST', keysIn(team), key({ allowedModels: ['x/y'] })],
      'does not allow x/y',
    ],
    [
      'uses a wildcard for everything',
      () => ['POST', keysIn(team), key({ allowedModels: ['*/*'] })],
      'no other wildcard is supported',
    ],
    [
      'reads the balance',
      () => ['POST', keysIn(team), key({ readBalance: true })],
      'may not read the balance',
    ],
    [
      'leaves a key behind',
      () => ['POST', keysIn(team), key({ deletionPolicy: 'Orphan' })],
      'end with their ApiKeys',
    ],
    [
      'claims to be a mirror',
      () => ['POST', keysIn(team), key({}, { labels: { 'modelgateway.dev/managed-by': 'cabinet' } })],
      'only the operator may set the label',
    ],
    [
      'writes an unknown field',
      () => ['POST', `${keysIn(team)}?fieldValidation=Strict`, key({ free: true })],
      'unknown field "spec.free"',
    ],
    [
      'writes a grace of a year',
      () => ['POST', keysIn(team), key({ rotation: { trigger: '1', gracePeriod: '8760h' } })],
      'must be between 0s and 7776000s',
    ],
    [
      'writes an interval of a second',
      () => ['POST', keysIn(team), key({ rotation: { interval: '1s', gracePeriod: '0s' } })],
      'must be between 3600s and 315360000s',
    ],
    [
      'lets a reflector copy the Secret',
      () => [
        'POST',
        keysIn(team),
        key(template({ 'reflector.v1.k8s.emberstack.com/reflection-allowed': 'true' })),
      ],
      'may not have reflector.v1.k8s.emberstack.com/',
    ],
    [
      'gives the Secret to Helm',
      () => ['POST', keysIn(team), key(template({ 'meta.helm.sh/release-name': 'x' }))],
      'may not have meta.helm.sh/',
    ],
    [
      'gives the Secret to Argo CD',
      () => ['POST', keysIn(team), key(template({ 'argocd.argoproj.io/sync-options': 'Prune=true' }))],
      'may not have argocd.argoproj.io/',
    ],
    [
      'names a ServiceAccount in the Secret',
      () => ['POST', keysIn(team), key(template({ 'kubernetes.io/service-account.name': 'default' }))],
      'may not have kubernetes.io/',
    ],
    [
      'forges our annotation',
      () => ['POST', keysIn(team), key(template({ 'modelgateway.dev/key-id': victim.keyId }))],
      'must not use the prefix modelgateway.dev/',
    ],
    [
      'writes its own quota',
      () => ['POST', `${root}/${team.namespace}/apikeyquotas`, quota],
      'cannot create resource "apikeyquotas"',
    ],
    [
      'replaces its quota',
      () => [
        'PUT',
        `${root}/${team.namespace}/apikeyquotas/quota`,
        { ...quota, metadata: { name: 'quota' } },
      ],
      'cannot update resource "apikeyquotas"',
    ],
    [
      'deletes its quota',
      () => ['DELETE', `${root}/${team.namespace}/apikeyquotas/quota`],
      'cannot delete resource "apikeyquotas"',
    ],
    [
      'relabels its namespace',
      () => [
        'PUT',
        `/api/v1/namespaces/${team.namespace}`,
        {
          metadata: { name: team.namespace, labels: { 'modelgateway.dev/organization': other.organization } },
        },
      ],
      'cannot update resource "namespaces"',
    ],
    [
      'creates a provider',
      () => [
        'POST',
        `${root}/${team.namespace}/modelproviders`,
        {
          apiVersion,
          kind: 'ModelProvider',
          metadata: { name: freshName() },
          spec: { api: 'OpenAI', baseURL: 'https://evil.example/v1' },
        },
      ],
      'cannot create resource "modelproviders"',
    ],
    [
      'offers a model',
      () => [
        'POST',
        `${root}/${team.namespace}/modelroutes`,
        {
          apiVersion,
          kind: 'ModelRoute',
          metadata: { name: freshName() },
          spec: {
            model: 'openai/gpt-4o',
            free: true,
            backends: [{ name: 'a', providerRef: { name: 'a' }, model: 'a' }],
          },
        },
      ],
      'may not offer model openai/gpt-4o',
    ],
    [
      'lists the Secrets of the release',
      () => ['GET', secretOf({ ...team, namespace: deployed.namespace })],
      'cannot list resource "secrets"',
    ],
    [
      'asks for a token of the operator',
      () => [
        'POST',
        `/api/v1/namespaces/${deployed.namespace}/serviceaccounts/model-gateway-operator/token`,
        {},
      ],
      'cannot create resource "serviceaccounts/token"',
    ],
    [
      "takes the operator's role",
      () => [
        'POST',
        `/apis/rbac.authorization.k8s.io/v1/namespaces/${team.namespace}/rolebindings`,
        {
          metadata: { name: freshName() },
          roleRef: {
            apiGroup: 'rbac.authorization.k8s.io',
            kind: 'ClusterRole',
            name: 'model-gateway-operator',
          },
          subjects: [{ kind: 'ServiceAccount', name: 'default', namespace: team.namespace }],
        },
      ],
      'cannot create resource "rolebindings"',
    ],
    [
      'changes the policies',
      () => [
        'DELETE',
        '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/model-gateway-key-quotas',
      ],
      'cannot delete resource "validatingadmissionpolicies"',
    ],
    [
      'writes a status',
      () => [
        'PUT',
        `${keysIn(team)}/any/status`,
        { ...key(), metadata: { name: 'any' }, status: { keyID: victim.keyId } },
      ],
      'cannot update resource "apikeys/status"',
    ],
  ])('is refused when it %s', async (_, attack, refusal) => {
    const [method, path, body] = attack()
    const answer = await tenant.request(method, path, body)
    expect((answer.body as { message?: string }).message).toContain(refusal)
    expect([400, 403, 422]).toContain(answer.status)
  })

  test.each<[string, object, object]>([
    ['names the Secret of another', { secret: { name: 'theirs' } }, {}],
    ['claims the key of another in an annotation', {}, { annotations: { 'modelgateway.dev/key-id': 'any' } }],
    [
      'asks to outlive its deletion',
      {},
      { annotations: { 'modelgateway.dev/deletion-policy-override': 'Orphan' } },
    ],
    ['has the name of the victim', {}, { name: 'victim' }],
    ['has a name that a shell would run', { displayName: '$(reboot); `id` <script>' }, {}],
  ])('harms no other tenant when it %s', async (_, spec, metadata) => {
    const object = key(spec, metadata)
    const theirs = { metadata: { name: 'theirs' }, stringData: { OPENAI_API_KEY: 'theirs' } }
    await tenant.request('POST', secretOf(team), theirs)
    expect((await tenant.request('POST', keysIn(team), object)).status).toBe(201)
    const { name } = object.metadata
    await vi.waitFor(
      async () => expect(conditionsOf((await team.find(name)) ?? raise()).length).toBeGreaterThan(0),
      waiting,
    )
    const keyId = keyIdOf(await team.find(name))
    expect((await tenant.request('DELETE', `${keysIn(team)}/${name}`)).status).toBeLessThan(300)
    await team.untilGone(name)
    if (keyId !== undefined) expect(await stateOf(keyId)).toMatchObject({ revoked: true })
    expect((await cluster.request('GET', secretOf(team, '/theirs'))).body).toMatchObject({
      data: { OPENAI_API_KEY: Buffer.from('theirs').toString('base64') },
    })
    expect(await gatewayStatus(gateway, victim.text)).toBe(200)
    expect(await team.find(victim.name)).toBeUndefined()
    expect(await other.find(victim.name)).toBeDefined()
  })

  function raise(): never {
    throw new Error('there is none')
  }

  test('has 200 keys at most, however many ApiKeys it creates', async () => {
    let created = 0
    const create = async () => {
      while (created < apiKeysMaxDefault + overCount) {
        created++
        expect((await tenant.request('POST', keysIn(team), key())).status).toBe(201)
      }
    }
    await Promise.all(Array.from({ length: 8 }, create))
    await vi.waitFor(async () => expect(await countOf('QuotaExceeded')).toBe(overCount), floodWaiting)
    await vi.waitFor(async () => expect(await countOf('Programmed')).toBe(apiKeysMaxDefault), floodWaiting)
    const { rowCount } = await pool.query(
      'select from api_keys where organization_id = $1 and revoked_at is null',
      [team.organizationId],
    )
    expect(rowCount).toBe(apiKeysMaxDefault)
  })

  /** ApiKeys whose `Accepted` or `Ready` has this reason. */
  async function countOf(reason: string): Promise<number> {
    const has = (object: ClusterObject) => conditionsOf(object).some((each) => each.reason === reason)
    return (await keysOf(team)).filter(has).length
  }
})

/** For hundreds of keys, on a busy machine. */
const floodWaiting = { timeout: 50_000, interval: 500 }
/** ApiKeys beyond the quota. */
const overCount = 10
