import { apiVersion } from '#crds/resource'
import { deployed } from './cluster.ts'

/** A request that a stolen token tries. */
export type Attempt = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: object
}

/** Namespaces: a team's, with its organization's label, and one without a label. */
export type Places = { readonly team: string; readonly bare: string }

type Metadata = {
  readonly name?: string
  readonly labels?: object | null
  readonly annotations?: object
  readonly finalizers?: readonly string[]
  readonly ownerReferences?: readonly object[]
}

export const ours = { 'app.kubernetes.io/managed-by': 'model-gateway-operator' }
export const keyId = { 'modelgateway.dev/key-id': '0198a0b0-0000-7000-8000-000000000000' }
const uid = '0198a0b0-0000-7000-8000-000000000001'
const operatorName = deployed.operator
const release: string = deployed.namespace

/** The ApiKey that controls a Secret. Others do not block a deletion, for which they need another permission. */
export const controller = (change: object = {}) => ({
  apiVersion,
  kind: 'ApiKey',
  name: 'ci',
  uid,
  controller: true,
  blockOwnerDeletion: Object.keys(change).every((name) => name === 'uid' || name === 'name'),
  ...change,
})
export const deployment = controller({ apiVersion: 'apps/v1', kind: 'Deployment' })

/** A Secret as the operator creates it, but for `change`. */
export function secret(change: Metadata & { readonly type?: string; readonly data?: object } = {}) {
  const { type = 'Opaque', data = { value: 'eA==' }, ...metadata } = change
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: 'made',
      labels: ours,
      annotations: keyId,
      ownerReferences: [controller()],
      ...metadata,
    },
    type,
    data,
  }
}

export const secretsOf = (namespace: string, name = '') => `/api/v1/namespaces/${namespace}/secrets/${name}`
export const patched = (path: string, body: object): Attempt => ({ method: 'PATCH', path, body })
export const created = (namespace: string, body: object): Attempt => ({
  method: 'POST',
  path: secretsOf(namespace),
  body,
})
/** How the operator reads a Secret. */
export const read = (namespace: string, name: string): Attempt => ({
  method: 'PATCH',
  path: secretsOf(namespace, name),
  query: { dryRun: 'All' },
  body: {},
})

/** Secrets in the namespace of the team that the operator did not create, with all that could make them look so. */
export const secretsOfOthers: Readonly<Record<string, object>> = {
  plain: secret({ labels: {}, annotations: {}, ownerReferences: [] }),
  'with the label alone': secret({ annotations: {}, ownerReferences: [] }),
  'with the key id alone': secret({ labels: {}, ownerReferences: [] }),
  'of a Deployment': secret({ ownerReferences: [deployment] }),
  'with an ApiKey that does not control it': secret({
    labels: {},
    annotations: {},
    ownerReferences: [controller({ controller: false })],
  }),
  'of Docker': secret({ type: 'kubernetes.io/dockerconfigjson', data: { '.dockerconfigjson': 'e30=' } }),
  'of TLS': secret({ type: 'kubernetes.io/tls', data: { 'tls.crt': '', 'tls.key': '' } }),
  'of basic authentication': secret({ type: 'kubernetes.io/basic-auth', data: { username: 'eA==' } }),
}

/** Name of one of them in the cluster. */
export const nameOfOther = (which: string) => which.toLowerCase().replaceAll(' ', '-')

/** What others have, in the namespace of a team and in that of the release. */
export function belongings(team: string, place: string): readonly (readonly [string, object])[] {
  const finalizers = ['example.com/stay']
  const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'theirs' } }
  const backends = [{ name: 'a', providerRef: { name: 'a' }, model: 'b' }]
  const route = { model: 'theirs/b', free: true, backends }
  const ofKind = (kind: string, metadata: object, spec: object) => ({ apiVersion, kind, metadata, spec })
  return [
    ...Object.entries(secretsOfOthers).map(([which, object]) => {
      const { metadata, ...rest } = object as ReturnType<typeof secret>
      return [secretsOf(team), { ...rest, metadata: { ...metadata, name: nameOfOther(which) } }] as const
    }),
    [
      `/api/v1/namespaces/${team}/configmaps`,
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'theirs' } },
    ],
    [`/apis/coordination.k8s.io/v1/namespaces/${place}/leases`, lease],
    [
      `/apis/${apiVersion}/namespaces/${team}/apikeys`,
      ofKind('ApiKey', { name: 'ci', finalizers }, { organization: 'acme' }),
    ],
    [`/apis/${apiVersion}/namespaces/${place}/modelroutes`, ofKind('ModelRoute', { name: 'theirs' }, route)],
  ]
}

/** Secrets that the operator may not create. */
export function forbiddenSecrets({ team, bare }: Places): readonly (readonly [string, Attempt])[] {
  const account = 'kubernetes.io/service-account.name'
  const token = (name: string) =>
    secret({ type: 'kubernetes.io/service-account-token', annotations: { ...keyId, [account]: name } })
  const bootstrap = {
    ...secret({ name: 'bootstrap-token-abcdef', type: 'bootstrap.kubernetes.io/token' }),
    data: { 'token-id': btoa('abcdef'), 'token-secret': btoa('0123456789abcdef') },
  }
  const others = Object.entries(secretsOfOthers).filter(([which]) => which !== 'plain')
  return [
    [
      'a token of a ServiceAccount that may escalate',
      created('kube-system', token('clusterrole-aggregation-controller')),
    ],
    ['a token of its own ServiceAccount', created(release, token('model-gateway-operator'))],
    ['a token of a ServiceAccount of a team', created(team, token('default'))],
    ['a bootstrap token', created('kube-system', bootstrap)],
    ['a bootstrap token in a namespace of a team', created(team, bootstrap)],
    ...others.map(([which, other]) => [`one ${which}`, created(team, other)] as const),
    ['one of a type of its own', created(team, secret({ type: 'example.com/any' }))],
    ['one without label', created(team, secret({ labels: {} }))],
    ['one without key id', created(team, secret({ annotations: {} }))],
    ['one without owner', created(team, secret({ ownerReferences: [] }))],
    [
      'one of a kind ApiKey that is not ours',
      created(team, secret({ ownerReferences: [controller({ apiVersion: 'example.com/v1' })] })),
    ],
    ['one of a ModelRoute', created(team, secret({ ownerReferences: [controller({ kind: 'ModelRoute' })] }))],
    [
      'one with a second owner',
      created(
        team,
        secret({ ownerReferences: [controller(), { ...deployment, controller: false, uid: `${uid}2` }] }),
      ),
    ],
    ['one with a finalizer', created(team, secret({ finalizers: ['example.com/stay'] }))],
    ['one in kube-system', created('kube-system', secret())],
    ['one in kube-of-somebody, labelled with an organization', created('kube-of-somebody', secret())],
    ['one in a namespace without label', created(bare, secret())],
  ]
}

/** Everything that is tried on a Secret of others. */
export function attemptsOn(namespace: string, name: string): readonly (readonly [string, Attempt])[] {
  const path = secretsOf(namespace, name)
  const takenOver = { metadata: { labels: ours, annotations: keyId, ownerReferences: [controller()] } }
  return [
    ['get', { method: 'GET', path }],
    ['read as the operator does', read(namespace, name)],
    [
      'list by name',
      { method: 'GET', path: secretsOf(namespace), query: { fieldSelector: `metadata.name=${name}` } },
    ],
    [
      'watch by name',
      {
        method: 'GET',
        path: secretsOf(namespace),
        query: { fieldSelector: `metadata.name=${name}`, watch: 'true' },
      },
    ],
    ['change its data', patched(path, { data: { value: 'eQ==' } })],
    ['take it over', patched(path, takenOver)],
    ['take it over without a trace', { ...patched(path, takenOver), query: { dryRun: 'All' } }],
    ['take its owners', patched(path, { metadata: { ownerReferences: null } })],
    ['replace it', { method: 'PUT', path, body: secret({ name }) }],
    ['delete it', { method: 'DELETE', path }],
  ]
}

/** What the operator may not do to a Secret that it did create. */
export function attemptsOnOwn(namespace: string, name: string): readonly (readonly [string, Attempt])[] {
  const path = secretsOf(namespace, name)
  const owned = (...ownerReferences: readonly object[]) => patched(path, { metadata: { ownerReferences } })
  return [
    ['get it', { method: 'GET', path }],
    ['delete it', { method: 'DELETE', path }],
    ['give it to another ApiKey', owned(controller({ name: 'other' }))],
    ['give it to a Deployment', owned(deployment)],
    ['add an owner', owned(controller(), { ...deployment, controller: false, uid: `${uid}2` })],
    ['add a finalizer', patched(path, { metadata: { finalizers: ['example.com/stay'] } })],
    [
      'release it with other data',
      patched(path, { metadata: { ownerReferences: null }, data: { value: 'eQ==' } }),
    ],
    [
      'release it with other labels',
      patched(path, { metadata: { ownerReferences: null, labels: { a: 'b' } } }),
    ],
    ['remove its label', patched(path, { metadata: { labels: null } })],
    ['remove its key id', patched(path, { metadata: { annotations: null } })],
  ]
}

/** What it may not do in the cluster, besides Secrets of single names. */
export function attemptsElsewhere(places: Places): readonly (readonly [string, Attempt])[] {
  return [...attemptsOnCluster(places), ...attemptsOnLeases(), ...attemptsOnOurKinds(places)]
}

function attemptsOnCluster({ team, bare }: Places): readonly (readonly [string, Attempt])[] {
  const rbac = 'rbac.authorization.k8s.io'
  const role = { apiVersion: `${rbac}/v1`, kind: 'Role', metadata: { name: 'mine' }, rules: [] }
  const user = { apiGroup: rbac, kind: 'User', name: operatorName }
  const roleRef = { apiGroup: rbac, kind: 'ClusterRole', name: 'cluster-admin' }
  const binding = { ...role, kind: 'ClusterRoleBinding', subjects: [user], roleRef }
  const roles = (namespace: string) => `/apis/${rbac}/v1/namespaces/${namespace}/roles`
  const configMaps = `/api/v1/namespaces/${team}/configmaps`
  const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'mine' } }
  const token = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} }
  const containers = [{ name: 'a', image: 'a' }]
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x' }, spec: { containers } }
  const policies = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies'
  const organization = { metadata: { labels: { 'modelgateway.dev/organization': 'acme' } } }
  return [
    ['list Secrets of the cluster', { method: 'GET', path: '/api/v1/secrets' }],
    ['watch Secrets of the cluster', { method: 'GET', path: '/api/v1/secrets', query: { watch: 'true' } }],
    ['delete all Secrets of a namespace', { method: 'DELETE', path: secretsOf(team) }],
    ['list ConfigMaps', { method: 'GET', path: configMaps }],
    ['read a ConfigMap', { method: 'GET', path: `${configMaps}/theirs` }],
    ['create a ConfigMap', { method: 'POST', path: configMaps, body: configMap }],
    ['change a ConfigMap', patched(`${configMaps}/theirs`, { data: { a: 'b' } })],
    ['delete a ConfigMap', { method: 'DELETE', path: `${configMaps}/theirs` }],
    ['create a Role', { method: 'POST', path: roles(team), body: role }],
    ['change its Role', patched(`${roles(release)}/model-gateway-operator`, { rules: [] })],
    ['become cluster-admin', { method: 'POST', path: `/apis/${rbac}/v1/clusterrolebindings`, body: binding }],
    [
      'create a token',
      { method: 'POST', path: `/api/v1/namespaces/${release}/serviceaccounts/default/token`, body: token },
    ],
    ['start a pod', { method: 'POST', path: `/api/v1/namespaces/${team}/pods`, body: pod }],
    ['label a namespace', patched(`/api/v1/namespaces/${bare}`, organization)],
    ['lift its limits', { method: 'DELETE', path: `${policies}/model-gateway-operator-secrets` }],
  ]
}

function attemptsOnLeases(): readonly (readonly [string, Attempt])[] {
  const lease = (name: string) => ({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name },
  })
  const leases = (namespace: string) => `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`
  const theirs = `${leases(release)}/theirs`
  return [
    ['create the Lease of another', { method: 'POST', path: leases(release), body: lease('mine') }],
    ['create a Lease in kube-system', { method: 'POST', path: leases('kube-system'), body: lease('mine') }],
    ['read the Lease of another', { method: 'GET', path: theirs }],
    ['change the Lease of another', { method: 'PUT', path: theirs, body: lease('theirs') }],
    ['delete the Lease of another', { method: 'DELETE', path: theirs }],
  ]
}

function attemptsOnOurKinds({ team }: Places): readonly (readonly [string, Attempt])[] {
  const path = (plural: string, namespace = release) =>
    `/apis/${apiVersion}/namespaces/${namespace}/${plural}`
  const object = (kind: string, spec: object) => ({ apiVersion, kind, metadata: { name: 'mine' }, spec })
  const backends = [{ name: 'a', providerRef: { name: 'a' }, model: 'b' }]
  const key = object('ApiKey', { organization: 'acme' })
  const route = object('ModelRoute', { model: 'a/b', free: true, backends })
  const keyOfTeam = `${path('apikeys', team)}/ci`
  const override = { 'modelgateway.dev/deletion-policy-override': 'Orphan' }
  const mirror = { 'modelgateway.dev/managed-by': 'cabinet' }
  return [
    ['raise the limits of an ApiKey', patched(keyOfTeam, { spec: { limits: { requestsPerMinute: 1_000 } } })],
    ['annotate an ApiKey', patched(keyOfTeam, { metadata: { annotations: override } })],
    ["remove another controller's finalizer", patched(keyOfTeam, { metadata: { finalizers: null } })],
    ['create an ApiKey for a team', { method: 'POST', path: path('apikeys', team), body: key }],
    ['create an ApiKey that is no mirror', { method: 'POST', path: path('apikeys'), body: key }],
    ['create a route that is no mirror', { method: 'POST', path: path('modelroutes'), body: route }],
    ['change a route', patched(`${path('modelroutes')}/theirs`, { spec: { displayName: 'x' } })],
    ['make a mirror of a route', patched(`${path('modelroutes')}/theirs`, { metadata: { labels: mirror } })],
    ['delete a route', { method: 'DELETE', path: `${path('modelroutes')}/theirs` }],
  ]
}
