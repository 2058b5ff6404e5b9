import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { apiVersion } from '#crds/resource'
import { createClusterTransport } from '#operator/runtime/internal/cluster-transport'
import { type ClusterUser, ownClusterOfThisFile } from '../support/cluster.ts'
import { chartFolder, findHelm, helmOk } from '../support/helm.ts'
import { rightsOf } from '../support/rights.ts'
import {
  type Attempt,
  attemptsElsewhere,
  attemptsOn,
  belongings,
  created,
  nameOfOther,
  patched,
  secret,
  secretsOf,
  secretsOfOthers,
} from '../support/stolen-token.ts'

// ServiceAccount × verb × resource, of a release with all its Jobs. Everything else is refused.
const cluster = await ownClusterOfThisFile()
const release = 'model-gateway'
const team = 'team-a'
const models = 'models'
const other = 'team-b'
const ofTest = 'model-gateway-model-gateway-test'
const places = [release, team, models, other, ofTest, 'kube-system']
const narrow = ['--set', `operator.namespaces={${team}},operator.routes.namespaces={${models}}`]
const accountOf = (name: string) => `system:serviceaccount:${release}:${name}`
const accounts = [
  'model-gateway-operator',
  'model-gateway-make-secrets',
  'model-gateway-release-finalizers',
  'model-gateway-test',
  'default',
]

type Rights = Readonly<Record<string, readonly string[]>>

const own = (resources: readonly string[], verbs: readonly string[]) =>
  resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}.modelgateway.dev`))
const named = (verbs: readonly string[], resource: string) => verbs.map((verb) => `${verb} ${resource}`)
const namespaces = named(['get', 'list', 'watch'], 'namespaces')
const objects = [
  ...own(['apikeys', 'modelroutes', 'modelproviders', 'apikeyquotas'], ['get', 'list', 'watch']),
  ...own(['apikeys', 'apikeys/status', 'modelroutes/status', 'modelproviders/status'], ['patch']),
  ...own(['apikeys/finalizers'], ['update']),
  'create events.events.k8s.io',
  ...named(['create', 'patch', 'delete'], 'secrets'),
]
const lease = 'leases.coordination.k8s.io'
const inRelease = [
  ...own(['apikeys', 'modelroutes'], ['create', 'update', 'patch', 'delete']),
  `create ${lease}`,
  ...named(['get', 'update'], `${lease}/model-gateway-operator`),
]
const finalizers = [
  ...own(['apikeys'], ['get', 'list', 'patch']),
  ...own(['modelroutes', 'modelproviders'], ['list']),
  ...own(['apikeys/status', 'modelroutes/status', 'modelproviders/status'], ['patch']),
  'get namespaces/kube-system',
]
const everywhere = (rights: readonly string[]): Rights =>
  Object.fromEntries(places.map((place) => [place, rights]))
const common: Readonly<Record<string, Rights>> = {
  'model-gateway-make-secrets': {
    [release]: ['create secrets', ...named(['get', 'update'], 'secrets/model-gateway-secrets')],
  },
  'model-gateway-release-finalizers': {
    ...everywhere(finalizers),
    [release]: [...finalizers, ...named(['get', 'update'], `${lease}/model-gateway-operator`)],
  },
  'model-gateway-test': {
    [ofTest]: [...own(['apikeys'], ['get', 'create', 'delete']), 'get secrets/helm-test-apikey'],
  },
  default: {},
}
const tables = {
  'all namespaces': {
    ...common,
    'model-gateway-operator': {
      ...everywhere([...objects, ...namespaces]),
      [release]: [...objects, ...namespaces, ...inRelease],
    },
  },
  'the namespaces of operator.namespaces': {
    ...common,
    'model-gateway-operator': {
      ...everywhere(namespaces),
      [team]: [...objects, ...namespaces],
      [models]: [...objects, ...namespaces],
      [release]: [...objects, ...namespaces, ...inRelease],
    },
  },
} satisfies Readonly<Record<string, Readonly<Record<string, Rights>>>>

const permissionKinds =
  /^(?:ServiceAccount|(?:Cluster)?Role(?:Binding)?|ValidatingAdmissionPolicy(?:Binding)?)$/
type Rendered = {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
}

async function render(...args: readonly string[]): Promise<readonly Rendered[]> {
  const program = await findHelm()
  const text = await helmOk(program, [
    ...['template', release, chartFolder, '--kube-version', '1.36.0', '--namespace', release],
    ...['--set', 'demo.enabled=true', ...args],
  ])
  return parseAllDocuments(text)
    .map((document) => document.toJS() as Rendered | null)
    .filter((object) => object !== null)
}

/** Applies the permissions of a release and removes those of the one before, as Helm does. */
async function install(...args: readonly string[]): Promise<void> {
  const items = (await render(...args)).filter(({ kind }) => permissionKinds.test(kind))
  const list = { apiVersion: 'v1', kind: 'List', items }
  await cluster.kubectlOk(['apply', '--server-side', '-f', '-'], JSON.stringify(list))
  const ids = items.map(({ kind, metadata }) => `${kind}/${metadata.namespace ?? ''}/${metadata.name}`)
  for (const id of installed.filter((before) => !ids.includes(before))) {
    const [kind = '', place = '', name = ''] = id.split('/')
    await cluster.kubectlOk(['delete', kind, name, ...(place === '' ? [] : ['-n', place])])
  }
  installed = ids
}

let installed: readonly string[] = []
const users = new Map<string, ClusterUser>()
const userOf = (account: string) => users.get(account) as ClusterUser

beforeAll(async () => {
  for (const place of places.filter((name) => name !== 'kube-system'))
    await cluster.kubectlOk(['create', 'namespace', place])
  for (const place of [team, other])
    await cluster.kubectlOk(['label', 'namespace', place, 'modelgateway.dev/organization=acme'])
  for (const account of accounts) users.set(account, await cluster.addUser(accountOf(account)))
  for (const [path, body] of belongings(team, release))
    expect([path, (await cluster.request('POST', path, body)).status]).toEqual([path, 201])
})

test('the accounts of the chart are those of the tables, and no other pod has a token', async () => {
  const rendered = await render()
  const names = rendered.filter(({ kind }) => kind === 'ServiceAccount').map(({ metadata }) => metadata.name)
  expect([...names, 'default'].toSorted()).toEqual(accounts.toSorted())
  const pods = rendered.flatMap((object) => podsOf(object))
  expect(pods.length).toBeGreaterThan(8)
  const careless = pods.filter(
    ({ serviceAccountName, automountServiceAccountToken }) =>
      automountServiceAccountToken !== false && !names.includes(serviceAccountName ?? ''),
  )
  expect(careless).toEqual([])
})

describe.each([
  ['all namespaces', []],
  ['the namespaces of operator.namespaces', narrow],
] as const)('a release for %s', (scope, args) => {
  beforeAll(() => install(...args))

  test.each(accounts)('%s has the permissions of the table, and no others', async (account) => {
    const expected: Rights = (tables[scope] as Readonly<Record<string, Rights>>)[account] ?? {}
    for (const place of places)
      await vi.waitFor(async () =>
        expect([place, await rightsOf(userOf(account), place)]).toEqual([
          place,
          [...(expected[place] ?? [])].toSorted(),
        ]),
      )
  })
})

describe.each(accounts)('a stolen token of %s', (account) => {
  const transports = () => createClusterTransport(userOf(account).kubeConfig, { onRequest: () => undefined })
  let transport: ReturnType<typeof transports>
  beforeAll(async () => {
    await install()
    transport = transports()
  })
  afterAll(() => transport.close())

  async function outcomeOf(attempt: Attempt): Promise<string> {
    const { status } = await transport.send({
      contentType: attempt.method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
      timeoutMs: 10_000,
      ...attempt,
    })
    return status === 403 ? 'refused' : `answered ${status}`
  }

  test('is refused Secrets, ConfigMaps, Roles, Leases, routes and ApiKeys of others', async () => {
    const attempts = [
      ...attemptsElsewhere({ team, bare: models }),
      ...Object.keys(secretsOfOthers).flatMap((which) => attemptsOn(team, nameOfOther(which))),
      ['create a Secret of a team', created(team, secret({ ownerReferences: [] }))] as const,
      ['create a token in the release', created(release, tokenSecret())] as const,
      ['create a token in kube-system', created('kube-system', tokenSecret())] as const,
    ]
    await vi.waitFor(async () => {
      for (const [what, attempt] of attempts)
        expect([what, await outcomeOf(attempt)]).toEqual([what, 'refused'])
    }, 20_000)
  })
})

test('the Job that makes the secrets still makes them, and the other one still removes finalizers', async () => {
  const made = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'model-gateway-secrets' } }
  const path = secretsOf(release)
  expect(await userOf('model-gateway-make-secrets').request('POST', path, made)).toMatchObject({
    status: 201,
  })
  const transport = createClusterTransport(userOf('model-gateway-release-finalizers').kubeConfig, {
    onRequest: () => undefined,
  })
  const key = `/apis/${apiVersion}/namespaces/${team}/apikeys/ci`
  const finalizers = ['example.com/stay', 'modelgateway.dev/revoke']
  await cluster.kubectlOk([
    '-n',
    team,
    'patch',
    'apikey',
    'ci',
    '--type=merge',
    '-p',
    JSON.stringify({ metadata: { finalizers } }),
  ])
  const attempt = patched(key, { metadata: { finalizers: ['example.com/stay'] } })
  const { status } = await transport.send({
    ...attempt,
    contentType: 'application/merge-patch+json',
    timeoutMs: 10_000,
  })
  await transport.close()
  expect(status).toBe(200)
})

function tokenSecret() {
  const annotations = { 'kubernetes.io/service-account.name': 'model-gateway-operator' }
  const type = 'kubernetes.io/service-account-token'
  return secret({ type, labels: {}, annotations, ownerReferences: [], data: {} })
}

type PodSpec = {
  readonly serviceAccountName?: string
  readonly automountServiceAccountToken?: boolean
}

function podsOf(object: Rendered): readonly PodSpec[] {
  const { kind, spec } = object as Rendered & {
    readonly spec?: PodSpec & { readonly template?: { readonly spec?: PodSpec } }
  }
  const pod = kind === 'Pod' ? spec : spec?.template?.spec
  return pod === undefined ? [] : [pod]
}
