import { afterAll, describe, expect, test, vi } from 'vitest'
import { createClusterClient } from '#operator/runtime/cluster-client'
import { createClusterTransport } from '#operator/runtime/internal/cluster-transport'
import { createLeaderElector } from '#operator/runtime/leader-elector'
import { secrets } from '#operator/runtime/resources'
import { deployed, ownClusterOfThisFile } from '../support/cluster.ts'

const cluster = await ownClusterOfThisFile({ deploy: 'installed' })
const operator = await cluster.addUser(deployed.operator)
const elsewhere = await cluster.createNamespace('acme')
const release = deployed.namespace

/** A rule as SelfSubjectRulesReview answers it. */
type Rule = {
  readonly apiGroups?: readonly string[]
  readonly resources: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly verbs: readonly string[]
}

/** `get apikeys.modelgateway.dev`, `update leases.coordination.k8s.io/model-gateway-operator`: what every user may not. */
async function rightsOf(user: typeof operator, namespace: string): Promise<readonly string[]> {
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectRulesReview',
    spec: { namespace },
  }
  const { body } = await user.request('POST', '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews', review)
  const { status } = body as { status: { resourceRules: readonly Rule[] } }
  return status.resourceRules
    .filter(({ resources }) => !resources.some((name) => name.startsWith('selfsubject')))
    .flatMap(({ apiGroups = [], resources, resourceNames = [''], verbs }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) =>
          resourceNames.flatMap((name) =>
            verbs.map((verb) => `${verb} ${resource}${group && `.${group}`}${name && `/${name}`}`),
          ),
        ),
      ),
    )
    .sort()
}

const ours = (verbs: readonly string[], resources: readonly string[]) =>
  resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}.modelgateway.dev`))
const all = ['apikeys', 'modelroutes', 'modelproviders']
const everywhere = [
  ...ours(['get', 'list', 'watch'], all),
  ...ours(['patch'], ['apikeys', 'apikeys/status', 'modelroutes/status', 'modelproviders/status']),
  ...ours(['update'], ['apikeys/finalizers']),
  ...['get', 'list', 'watch'].map((verb) => `${verb} namespaces`),
  'create events.events.k8s.io',
  ...['get', 'create', 'patch', 'delete'].map((verb) => `${verb} secrets`),
]
const inRelease = [
  ...ours(['create', 'update', 'patch', 'delete'], ['apikeys', 'modelroutes']),
  'create leases.coordination.k8s.io',
  'get leases.coordination.k8s.io/model-gateway-operator',
  'update leases.coordination.k8s.io/model-gateway-operator',
]

test('the operator may do what it does in every namespace, and nothing else', async () => {
  expect(await rightsOf(operator, elsewhere)).toEqual(everywhere.toSorted())
})

test("in the release's namespace it may also keep its Lease and write mirrors, and nothing else", async () => {
  expect(await rightsOf(operator, release)).toEqual([...everywhere, ...inRelease].toSorted())
})

describe('Secrets', () => {
  const client = createClusterClient(operator.kubeConfig)
  const transport = createClusterTransport(operator.kubeConfig, { onRequest: () => undefined })
  afterAll(() => Promise.all([client.close(), transport.close()]))
  const path = `/api/v1/namespaces/${elsewhere}/secrets`
  const others = { namespace: elsewhere, name: 'of-somebody' }
  const whole = 'application/json'
  const metadataOnly = (list: string) => `application/json;as=PartialObjectMetadata${list};g=meta.k8s.io;v=v1`

  test.each([
    ['listed', {}, whole],
    ['listed by label', { labelSelector: 'app.kubernetes.io/managed-by=model-gateway-operator' }, whole],
    ['listed by name', { fieldSelector: 'metadata.name=of-somebody' }, whole],
    ['watched', { watch: 'true' }, whole],
    ['watched by name', { watch: 'true', fieldSelector: 'metadata.name=of-somebody' }, whole],
    ['listed without their data', {}, metadataOnly('List')],
    ['watched without their data', { watch: 'true' }, metadataOnly('')],
  ])('cannot be %s, in one namespace or in all', async (_, query, accept) => {
    for (const place of [path, '/api/v1/secrets']) {
      const { status, text } = await transport.send({
        method: 'GET',
        path: place,
        query,
        accept,
        timeoutMs: 10_000,
      })
      expect([status, text]).toEqual([403, expect.stringMatching(/cannot (list|watch) resource .{2}secrets/)])
    }
  })

  test('can be read by name; reading only the version does not read the data', async () => {
    const data = { PASSWORD: 'c2VjcmV0' }
    const made = await createClusterClient(cluster.kubeConfig).create(secrets, { metadata: others, data })
    if (made === 'exists') throw new Error('it is there already')
    expect(await client.find(secrets, others)).toMatchObject({ data })
    const { resourceVersion = '' } = made.metadata
    expect(await client.findVersion(secrets, others, '')).toBe(resourceVersion)
    expect(await client.findVersion(secrets, others, resourceVersion)).toBe(resourceVersion)
    expect(await client.findVersion(secrets, { ...others, name: 'none' }, '')).toBe('')
    const { text } = await transport.send({
      method: 'GET',
      path: `${path}/of-somebody`,
      accept: metadataOnly(''),
      timeoutMs: 10_000,
    })
    expect(text).not.toContain(data.PASSWORD)
  })
})

test('it may not delete even its own Secrets: that permission is only for handing them over', async () => {
  const labels = { 'app.kubernetes.io/managed-by': 'model-gateway-operator' }
  const path = `/api/v1/namespaces/${elsewhere}/secrets`
  for (const [name, metadata] of Object.entries({ own: { labels }, foreign: {} })) {
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name, ...metadata } }
    expect((await cluster.request('POST', path, secret)).status).toBe(201)
    const { status, body } = await operator.request('DELETE', `${path}/${name}`)
    expect({ status, text: JSON.stringify(body) }).toMatchObject({
      status: 403,
      text: expect.stringContaining('the operator deletes no Secrets'),
    })
  }
})

describe('kubectl auth can-i reports the same', () => {
  const inOther = ['-n', elsewhere]
  const inOwn = ['-n', release]
  const may: readonly (readonly string[])[] = [
    ['list', 'apikeys', '--all-namespaces'],
    ['watch', 'modelproviders', '--all-namespaces'],
    ['patch', 'apikeys', ...inOther],
    ['patch', 'modelroutes', '--subresource=status', ...inOther],
    ['update', 'apikeys', '--subresource=finalizers', ...inOther],
    ['get', 'secrets', ...inOther],
    ['create', 'secrets', ...inOther],
    ['watch', 'namespaces'],
    ['create', 'events.events.k8s.io', ...inOther],
    ['create', 'apikeys', ...inOwn],
    ['delete', 'modelroutes', ...inOwn],
    ['update', 'leases/model-gateway-operator', ...inOwn],
  ]
  const mayNot: readonly (readonly string[])[] = [
    ['list', 'secrets', ...inOther],
    ['watch', 'secrets', ...inOwn],
    ['deletecollection', 'secrets', ...inOther],
    ['create', 'apikeys', ...inOther],
    ['update', 'apikeys', ...inOther],
    ['delete', 'apikeys', ...inOther],
    ['patch', 'modelroutes', ...inOther],
    ['create', 'modelproviders', ...inOwn],
    ['update', 'leases/another', ...inOwn],
    ['get', 'leases/model-gateway-operator', ...inOther],
    ['delete', 'leases/model-gateway-operator', ...inOwn],
    ['update', 'namespaces', ...inOther],
    ['get', 'pods', ...inOwn],
    ['get', 'configmaps', ...inOwn],
    ['create', 'serviceaccounts', '--subresource=token', ...inOwn],
    ['impersonate', 'users'],
    ['escalate', 'clusterroles'],
    ['bind', 'clusterroles'],
    ['update', 'customresourcedefinitions'],
    ['update', 'validatingadmissionpolicies'],
  ]
  test.each([
    ...may.map((question) => ['yes', question] as const),
    ...mayNot.map((question) => ['no', question] as const),
  ])('%s: %j', async (answer, question) => {
    const { stdout } = await operator.kubectl(['auth', 'can-i', ...question])
    expect(stdout.trim()).toBe(answer)
  })
})

describe('people', () => {
  const write = ['create', 'update', 'patch', 'delete', 'deletecollection']
  const view = ours(['get', 'list', 'watch'], all)
  const edit = ours(write, ['apikeys', 'modelroutes'])
  const admin = ours(write, ['modelproviders'])

  test.each([
    ['view', ['view', 'edit', 'admin'], view],
    ['edit', ['edit', 'admin'], edit],
    ['admin', ['admin'], admin],
  ] as const)("who has the cluster's %s role gets these rights with it", async (name, roles, rights) => {
    const role = `model-gateway-${name}`
    const path = `/apis/rbac.authorization.k8s.io/v1/clusterroles/${role}`
    const { body } = await cluster.request('GET', path)
    expect((body as { metadata: { labels: object } }).metadata.labels).toEqual(
      Object.fromEntries(roles.map((into) => [`rbac.authorization.k8s.io/aggregate-to-${into}`, 'true'])),
    )
    const person = await cluster.addUser(`person-${name}`)
    await cluster.kubectlOk([
      '-n',
      elsewhere,
      'create',
      'rolebinding',
      role,
      `--clusterrole=${role}`,
      `--user=person-${name}`,
    ])
    await expect.poll(() => rightsOf(person, elsewhere), { timeout: 10_000 }).toEqual(rights.toSorted())
    expect(await rightsOf(person, release)).toEqual([])
  })
})

test('the operator may give its Lease to its ServiceAccount, with which it goes', async () => {
  const account = await cluster.request(
    'GET',
    `/api/v1/namespaces/${release}/serviceaccounts/model-gateway-operator`,
  )
  const { uid } = (account.body as { metadata: { uid: string } }).metadata
  const owner = { apiVersion: 'v1', kind: 'ServiceAccount', name: 'model-gateway-operator', uid }
  const elector = createLeaderElector(operator.kubeConfig, {
    lease: { namespace: release, name: 'model-gateway-operator' },
    owner,
    identity: 'we',
    onElected: () => undefined,
    onLost: () => undefined,
    onError: (error) => expect.fail(String(error)),
    times: { lengthMs: 3_000, renewDeadlineMs: 2_000, retryMs: 100 },
  })
  elector.start()
  await vi.waitFor(() => expect(elector.isLeader()).toBe(true), 10_000)
  await elector.release()
  const lease = await operator.request(
    'GET',
    `/apis/coordination.k8s.io/v1/namespaces/${release}/leases/model-gateway-operator`,
  )
  expect(lease.body).toMatchObject({ metadata: { ownerReferences: [owner] } })
})
