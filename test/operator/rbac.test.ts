import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { apiVersion } from '#crds/resource'
import { createClusterClient } from '#operator/runtime/cluster-client'
import { createClusterTransport } from '#operator/runtime/internal/cluster-transport'
import { createLeaderElector } from '#operator/runtime/leader-elector'
import { deployed, ownClusterOfThisFile } from '../support/cluster.ts'
import { rightsOf } from '../support/rights.ts'
import {
  type Attempt,
  attemptsElsewhere,
  attemptsOn,
  attemptsOnOwn,
  belongings,
  controller,
  created,
  deployment,
  forbiddenSecrets,
  keyId,
  nameOfOther,
  ours as ourLabel,
  patched,
  read,
  secret,
  secretsOf,
  secretsOfOthers,
} from '../support/stolen-token.ts'

const cluster = await ownClusterOfThisFile({ deploy: 'installed' })
const operator = await cluster.addUser(deployed.operator)
const elsewhere = await cluster.createNamespace('acme')
const release = deployed.namespace

const ours = (verbs: readonly string[], resources: readonly string[]) =>
  resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}.modelgateway.dev`))
const all = ['apikeys', 'modelroutes', 'modelproviders', 'apikeyquotas']
const everywhere = [
  ...ours(['get', 'list', 'watch'], all),
  ...ours(['patch'], ['apikeys', 'apikeys/status', 'modelroutes/status', 'modelproviders/status']),
  ...ours(['update'], ['apikeys/finalizers']),
  ...['get', 'list', 'watch'].map((verb) => `${verb} namespaces`),
  'create events.events.k8s.io',
  ...['create', 'patch', 'delete'].map((verb) => `${verb} secrets`),
]
const inRelease = [
  ...ours(['create', 'update', 'patch', 'delete'], ['apikeys', 'modelroutes']),
  'create leases.coordination.k8s.io',
  'get leases.coordination.k8s.io/model-gateway-operator',
  'update leases.coordination.k8s.io/model-gateway-operator',
]

/** Of others: an entry, an owner and a finalizer of a Secret of the operator. */
const additions = {
  metadata: {
    finalizers: ['example.com/stay'],
    ownerReferences: [controller(), { ...deployment, controller: false, uid: 'of-somebody' }],
  },
  data: { theirs: 'eA==' },
}

function contentTypeOf({ method }: Attempt): string {
  return method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
}

test('the operator may do what it does in every namespace, and nothing else', async () => {
  expect(await rightsOf(operator, elsewhere)).toEqual(everywhere.toSorted())
})

test("in the release's namespace it may also keep its Lease and write mirrors, and nothing else", async () => {
  expect(await rightsOf(operator, release)).toEqual([...everywhere, ...inRelease].toSorted())
})

describe('a stolen token of the operator', () => {
  const transport = createClusterTransport(operator.kubeConfig, { onRequest: () => undefined })
  const admin = createClusterTransport(cluster.kubeConfig, { onRequest: () => undefined })
  afterAll(() => Promise.all([transport.close(), admin.close()]))
  const places = { team: elsewhere, bare: '' }
  const send = (by: typeof admin, attempt: Attempt) =>
    by.send({ contentType: contentTypeOf(attempt), timeoutMs: 10_000, ...attempt })
  const as = async (by: typeof admin, attempt: Attempt) => (await send(by, attempt)).status

  beforeAll(async () => {
    places.bare = await cluster.createNamespace()
    await cluster.kubectlOk(['create', 'namespace', 'kube-of-somebody'])
    await cluster.kubectlOk(['label', 'namespace', 'kube-of-somebody', 'modelgateway.dev/organization=acme'])
    for (const [path, body] of belongings(elsewhere, release))
      expect([path, (await cluster.request('POST', path, body)).status]).toEqual([path, 201])
  })

  test.each(forbiddenSecrets(places).map(([what]) => what))('creates no Secret: %s', async (what) => {
    const attempt = new Map(forbiddenSecrets(places)).get(what)
    expect(await refusalOf(attempt)).toContain('forbidden')
  })

  test.each(Object.keys(secretsOfOthers))('does nothing with a Secret of others: one %s', async (which) => {
    const name = nameOfOther(which)
    for (const [what, attempt] of attemptsOn(elsewhere, name))
      expect([what, await refusalOf(attempt)]).toEqual([what, expect.stringContaining('forbidden')])
  })

  test('reads a Secret that is labelled as the credential of a provider, and does nothing else with it', async () => {
    const labels = { 'modelgateway.dev/provider-credential': 'true' }
    const credential = secret({ name: 'credential', labels, annotations: {}, ownerReferences: [deployment] })
    const large = { ...credential, data: { value: Buffer.alloc(700_000, 'x').toString('base64') } }
    expect(await as(admin, created(elsewhere, large))).toBe(201)
    const attempts = attemptsOn(elsewhere, 'credential').filter(([what]) => !what.startsWith('read'))
    for (const [what, attempt] of attempts)
      expect([what, await refusalOf(attempt)]).toEqual([what, expect.stringContaining('forbidden')])
    expect(await as(transport, read(elsewhere, 'credential'))).toBe(200)
  })

  test.each(attemptsOnOwn('', '').map(([what]) => what))(
    'cannot use a Secret of the operator to %s',
    async (what) => {
      const name = 'own'
      await send(transport, created(elsewhere, secret({ name })))
      const attempt = new Map(attemptsOnOwn(elsewhere, name)).get(what)
      expect(await refusalOf(attempt)).toContain('forbidden')
    },
  )

  test.each(attemptsElsewhere(places).map(([what]) => what))('cannot %s', async (what) => {
    const attempt = new Map(attemptsElsewhere(places)).get(what)
    expect(await refusalOf(attempt)).toContain('forbidden')
  })

  test('creates no Secret in a namespace that an administrator excluded', async () => {
    const excluded = await cluster.createNamespace('acme')
    const change = [{ op: 'replace', path: '/spec/variables/0/expression', value: `['${excluded}']` }]
    const policy = 'validatingadmissionpolicy/model-gateway-operator-secrets'
    await cluster.kubectlOk(['patch', policy, '--type=json', '-p', JSON.stringify(change)])
    await vi.waitFor(
      async () => {
        const attempt = { ...created(excluded, secret()), query: { dryRun: 'All' } }
        expect(await refusalOf(attempt)).toContain(`writes no Secrets in namespace ${excluded}`)
      },
      { timeout: 10_000, interval: 50 },
    )
  })

  test('is still good for the work of the operator: it creates, repairs, releases and takes up its Secrets', async () => {
    const name = 'worked-on'
    const path = secretsOf(elsewhere, name)
    const recreated = controller({ uid: '0198a0b0-0000-7000-8000-000000000002' })
    const whole = { labels: ourLabel, annotations: keyId, ownerReferences: [recreated] }
    const steps: readonly (readonly [string, typeof admin, Attempt])[] = [
      ['create it', transport, created(elsewhere, secret({ name }))],
      ['read it', transport, read(elsewhere, name)],
      ['rotate', transport, patched(path, { data: { value: 'eQ==' } })],
      ['others add an entry, an owner and a finalizer', admin, patched(path, additions)],
      [
        'keep those of others',
        transport,
        patched(path, { metadata: { annotations: { a: 'b' } }, data: { value: 'eg==' } }),
      ],
      [
        'someone removes its label and key id',
        admin,
        patched(path, { metadata: { labels: null, annotations: null } }),
      ],
      ['restore its label', transport, patched(path, { metadata: { labels: ourLabel, annotations: keyId } })],
      [
        'the ApiKey was recreated',
        transport,
        patched(path, { metadata: { ownerReferences: [additions.metadata.ownerReferences[1], recreated] } }),
      ],
      [
        'someone removes its owner',
        admin,
        patched(path, { metadata: { ownerReferences: null, finalizers: null } }),
      ],
      ['restore its owner', transport, patched(path, { metadata: whole })],
      ['release it', transport, patched(path, { metadata: { ownerReferences: [] } })],
      ['read what was left behind', transport, read(elsewhere, name)],
      [
        'take it up again',
        transport,
        patched(path, {
          metadata: { ...whole, ownerReferences: [controller({ name: 'next' })] },
          data: { value: 'eA==' },
        }),
      ],
      [
        'its namespace loses the label',
        admin,
        patched(`/api/v1/namespaces/${elsewhere}`, {
          metadata: { labels: { 'modelgateway.dev/organization': null } },
        }),
      ],
      ['read it', transport, read(elsewhere, name)],
      ['release it there', transport, patched(path, { metadata: { ownerReferences: null } })],
    ]
    for (const [what, by, attempt] of steps)
      expect([what, await send(by, attempt)]).toEqual([
        what,
        expect.objectContaining({ status: expect.toSatisfy((status) => status === 200 || status === 201) }),
      ])
    expect(await refusalOf(patched(path, { metadata: whole }))).toContain('has not labelled it')
    await cluster.kubectlOk(['label', 'namespace', elsewhere, 'modelgateway.dev/organization=acme'])
  })

  test('changes its finalizer on an ApiKey', async () => {
    const path = `/apis/${apiVersion}/namespaces/${elsewhere}/apikeys/ci`
    const theirs = 'example.com/stay'
    for (const finalizers of [[theirs, 'modelgateway.dev/revoke'], [theirs]])
      expect(await as(transport, patched(path, { metadata: { finalizers } }))).toBe(200)
  })

  /** What the API server answers to a request that it must refuse. */
  async function refusalOf(attempt: Attempt | undefined): Promise<string> {
    if (attempt === undefined) throw new Error('no such attempt')
    const { status, text } = await send(transport, attempt)
    return status === 403 ? text : `answered ${status}`
  }
})

test('Secrets are read by a patch that changes nothing: of one that may not be read only the name is known', async () => {
  const client = createClusterClient(operator.kubeConfig)
  onTestFinished(() => client.close())
  const place = await cluster.createNamespace('acme')
  const made = { ...secret({ name: 'made' }), data: { PASSWORD: 'c2VjcmV0' } }
  const names = { made, theirs: { ...made, metadata: { name: 'theirs' } } }
  for (const body of Object.values(names))
    expect((await cluster.request('POST', secretsOf(place), body)).status).toBe(201)
  const { body } = await cluster.request('GET', secretsOf(place, 'made'))
  const { resourceVersion } = (body as { metadata: { resourceVersion: string } }).metadata
  expect(await client.findSecret({ namespace: place, name: 'made' })).toMatchObject({
    metadata: { resourceVersion },
    data: made.data,
  })
  expect(await client.findSecretVersion({ namespace: place, name: 'made' })).toBe(resourceVersion)
  const denied = await client.findSecret({ namespace: place, name: 'theirs' })
  expect(denied).toEqual({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: place, name: 'theirs', resourceVersion: 'denied' },
  })
  expect(await client.findSecretVersion({ namespace: place, name: 'theirs' })).toBe('denied')
  expect(await client.findSecret({ namespace: place, name: 'none' })).toBeUndefined()
  expect(await client.findSecretVersion({ namespace: place, name: 'none' })).toBe('')
  const after = await cluster.request('GET', secretsOf(place, 'made'))
  expect(after.body).toEqual(body)
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
    ['create', 'secrets', ...inOther],
    ['watch', 'namespaces'],
    ['create', 'events.events.k8s.io', ...inOther],
    ['create', 'apikeys', ...inOwn],
    ['delete', 'modelroutes', ...inOwn],
    ['update', 'leases/model-gateway-operator', ...inOwn],
  ]
  const mayNot: readonly (readonly string[])[] = [
    ['get', 'secrets', ...inOther],
    ['get', 'secrets', ...inOwn],
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
