import { randomBytes } from 'node:crypto'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { apiVersion } from '#crds/resource'
import { createClusterClient } from '#operator/runtime/cluster-client'
import { apiKeys, modelRoutes } from '#operator/runtime/resources'
import { type ClusterUser, deployed, ownClusterOfThisFile } from '../support/cluster.ts'
import { type Kind, objectOf } from './specs.ts'

const cluster = await ownClusterOfThisFile({ deploy: 'installed' })
const operator = await cluster.addUser(deployed.operator)
const client = createClusterClient(operator.kubeConfig)
afterAll(() => client.close())
const release = deployed.namespace
const mirrorLabels = { 'modelgateway.dev/managed-by': 'cabinet' }
const uniqueName = () => `t-${randomBytes(6).toString('hex')}`

const collectionOf = (kind: Kind, namespace: string) =>
  `/apis/${apiVersion}/namespaces/${namespace}/${kind.toLowerCase()}s`

type Fields = { readonly labels?: object; readonly spec?: object; readonly name?: string }

function object(kind: Kind, { labels = {}, spec = {}, name = uniqueName() }: Fields = {}) {
  const made = objectOf(kind, spec, name)
  return { ...made, metadata: { ...made.metadata, labels } }
}

/** 201, 200, or what a person reads. */
async function ask(user: ClusterUser, ...request: Parameters<ClusterUser['request']>) {
  const { status, body } = await user.request(...request)
  return status < 300 ? status : (body as { message: string }).message
}

const create = (user: ClusterUser, kind: Kind, namespace: string, fields?: Fields) =>
  ask(user, 'POST', collectionOf(kind, namespace), object(kind, fields))

/** Edits an object as `kubectl edit` does: reads it, changes it, writes it whole. */
async function edit(user: ClusterUser, kind: Kind, namespace: string, name: string, change: Fields) {
  const path = `${collectionOf(kind, namespace)}/${name}`
  const { body } = await cluster.request('GET', path)
  const { metadata, spec } = body as { metadata: object; spec: object }
  const { labels } = change
  return ask(user, 'PUT', path, {
    ...(body as object),
    metadata: { ...metadata, ...(labels === undefined ? {} : { labels }) },
    spec: { ...spec, ...change.spec },
  })
}

describe('a namespace charges only the organization that its label names', () => {
  test('without the label a person reads whom to ask', async () => {
    const namespace = await cluster.createNamespace()
    const { code, stderr } = await cluster.kubectl(
      ['-n', namespace, 'apply', '-f', '-'],
      JSON.stringify(object('ApiKey')),
    )
    expect(code).toBe(1)
    expect(stderr).toContain(
      `namespace ${namespace} may not use organization acme: ask a cluster admin to label it modelgateway.dev/organization=acme`,
    )
  })

  test('with the label its organization is taken, and no other', async () => {
    const namespace = await cluster.createNamespace('acme')
    expect(await create(cluster, 'ApiKey', namespace)).toBe(201)
    expect(await create(cluster, 'ApiKey', namespace, { spec: { organization: 'other' } })).toContain(
      // Another label would block every key of acme in there.
      `namespace ${namespace} is labelled for organization acme and may not use other: create the ApiKey in a namespace labelled modelgateway.dev/organization=other`,
    )
    const elsewhere = await cluster.createNamespace('other')
    expect(await create(cluster, 'ApiKey', elsewhere, { spec: { organization: 'other' } })).toBe(201)
  })

  test('when the label is taken away, keys cannot be changed, but finalizers still go, and keys too', async () => {
    const namespace = await cluster.createNamespace('acme')
    const name = uniqueName()
    const finalizers = ['modelgateway.dev/revoke']
    const body = object('ApiKey', { name })
    const held = { ...body, metadata: { ...body.metadata, finalizers } }
    expect(await ask(cluster, 'POST', collectionOf('ApiKey', namespace), held)).toBe(201)
    await cluster.kubectlOk(['label', 'namespace', namespace, 'modelgateway.dev/organization-'])
    expect(await edit(cluster, 'ApiKey', namespace, name, { spec: { suspend: true } })).toContain(
      'may not use',
    )
    expect(await edit(cluster, 'ApiKey', namespace, name, { labels: { team: 'a' } })).toBe(200)
    expect(await ask(cluster, 'DELETE', `${collectionOf('ApiKey', namespace)}/${name}`)).toBe(200)
    const found = await client.find(apiKeys, { namespace, name })
    if (found === undefined) throw new Error('the finalizer did not hold it')
    await client.patch(apiKeys, found, { metadata: { finalizers: [] } })
    expect(await client.find(apiKeys, { namespace, name })).toBeUndefined()
  })

  test("the operator's mirrors need no label, in the release's namespace", async () => {
    expect(await create(operator, 'ApiKey', release, { labels: mirrorLabels })).toBe(201)
    expect(await create(cluster, 'ApiKey', release, { labels: mirrorLabels })).toContain('denied request')
  })

  test('providers need no label', async () => {
    expect(await create(cluster, 'ModelProvider', await cluster.createNamespace())).toBe(201)
  })
})

describe('a namespace offers only the models that its annotation names', () => {
  const letOffer = (namespace: string, models: string) =>
    cluster.kubectlOk([
      'annotate',
      '--overwrite',
      'namespace',
      namespace,
      `modelgateway.dev/may-offer=${models}`,
    ])
  const offer = (namespace: string, model: string) =>
    create(cluster, 'ModelRoute', namespace, { spec: { model } })

  test('without it a person reads whom to ask, and doing so is enough', async () => {
    const namespace = await cluster.createNamespace()
    expect(await offer(namespace, 'openai/gpt-4o')).toContain(
      `namespace ${namespace} may not offer model openai/gpt-4o: a cluster admin can add openai/* to its annotation modelgateway.dev/may-offer`,
    )
    await letOffer(namespace, 'openai/*')
    expect(await offer(namespace, 'openai/gpt-4o')).toBe(201)
  })

  test.each([
    ['acme/one , openai/gpt-4o', 'openai/gpt-4o', true],
    ['openai/gpt-4o', 'openai/gpt-4o-mini', false],
    ['openai/gpt-4*', 'openai/gpt-4o', false],
    ['openai', 'openai/gpt-4o', false],
    ['/*', 'openai/gpt-4o', false],
    [' , ', 'openai/gpt-4o', false],
    ['*', 'openai/gpt-4o', true],
  ])('%j covers %s: %s', async (models, model, isCovered) => {
    const namespace = await cluster.createNamespace()
    await letOffer(namespace, models)
    expect(await offer(namespace, model)).toEqual(
      isCovered ? 201 : expect.stringContaining('may not offer model'),
    )
  })

  test('that of the release offers all by default; mirrors are as the cabinet has them', async () => {
    expect(await offer(release, 'openai/gpt-4o')).toBe(201)
    await letOffer(release, 'acme/*')
    try {
      expect(await offer(release, 'openai/gpt-4o')).toContain('may not offer model')
      expect(await create(operator, 'ModelRoute', release, { labels: mirrorLabels })).toBe(201)
    } finally {
      await cluster.kubectlOk(['annotate', 'namespace', release, 'modelgateway.dev/may-offer-'])
    }
  })

  test('when it is taken away, routes cannot be changed, but labelled and deleted', async () => {
    const namespace = await cluster.createNamespace()
    await letOffer(namespace, '*')
    const name = uniqueName()
    expect(await create(cluster, 'ModelRoute', namespace, { name })).toBe(201)
    await letOffer(namespace, 'acme/*')
    expect(await edit(cluster, 'ModelRoute', namespace, name, { spec: { displayName: 'x' } })).toContain(
      'may not offer',
    )
    expect(await edit(cluster, 'ModelRoute', namespace, name, { labels: { team: 'a' } })).toBe(200)
    expect(await ask(cluster, 'DELETE', `${collectionOf('ModelRoute', namespace)}/${name}`)).toBe(200)
  })
})

describe('mirrors are written only by the operator', () => {
  const mirrors = "'model-gateway-mirrors'"
  const label = 'only the operator may set the label modelgateway.dev/managed-by=cabinet'
  const there = 'this object is a read-only mirror of the cabinet: make the change in the cabinet'

  test.each(['ApiKey', 'ModelRoute', 'ModelProvider'] as const)(
    'no other user can label a %s as one, at its creation or later',
    async (kind) => {
      const namespace = await cluster.createNamespace('acme')
      await cluster.kubectlOk(['annotate', 'namespace', namespace, 'modelgateway.dev/may-offer=*'])
      const name = uniqueName()
      expect(await create(cluster, kind, namespace, { labels: mirrorLabels })).toContain(label)
      expect(await create(cluster, kind, namespace, { name })).toBe(201)
      expect(await edit(cluster, kind, namespace, name, { labels: mirrorLabels })).toContain(label)
    },
  )

  test('any user may set another value of the label, and the label on other objects', async () => {
    const namespace = await cluster.createNamespace('acme')
    const labels = { 'modelgateway.dev/managed-by': 'helm' }
    expect(await create(cluster, 'ApiKey', namespace, { labels })).toBe(201)
    const body = { metadata: { name: uniqueName(), labels: mirrorLabels } }
    expect(await ask(cluster, 'POST', `/api/v1/namespaces/${namespace}/configmaps`, body)).toBe(201)
  })

  test.each([apiKeys, modelRoutes])(
    'the operator makes, changes and removes mirrors: $plural',
    async (resource) => {
      const kind = resource.kind === 'ApiKey' ? 'ApiKey' : 'ModelRoute'
      const { metadata, spec } = object(kind, { labels: mirrorLabels })
      const mirror = { metadata: { ...metadata, namespace: release, labels: mirrorLabels }, spec }
      const made = await client.apply(resource, mirror)
      if (made === 'conflict') throw new Error('conflict')
      const changed = await client.replace(resource, { ...made, spec: { ...spec, displayName: 'another' } })
      if (typeof changed === 'string') throw new Error(changed)
      expect(changed).toHaveProperty('spec.displayName', 'another')
      await client.remove(resource, changed)
      expect(await client.find(resource, { namespace: release, name: metadata.name })).toBeUndefined()
    },
  )

  test('no other user edits one, removes its label, or deletes it, singly or with all others', async () => {
    const name = uniqueName()
    expect(await create(operator, 'ModelRoute', release, { name, labels: mirrorLabels })).toBe(201)
    const path = collectionOf('ModelRoute', release)
    for (const change of [
      { spec: { displayName: 'mine' } },
      { labels: {} },
      { labels: { ...mirrorLabels, a: 'b' } },
    ])
      expect(await edit(cluster, 'ModelRoute', release, name, change)).toContain(there)
    for (const query of [`/${name}`, '']) {
      expect(await ask(cluster, 'DELETE', `${path}${query}`)).toContain(mirrors)
      expect(await cluster.request('GET', `${path}/${name}`)).toMatchObject({ status: 200 })
    }
  })

  test('they go with their namespace: who cleans up a cluster may delete them', async () => {
    const cleaner = await cluster.addUser('system:serviceaccount:kube-system:namespace-controller', [
      'system:masters',
    ])
    const name = uniqueName()
    expect(await create(operator, 'ModelRoute', release, { name, labels: mirrorLabels })).toBe(201)
    const path = `${collectionOf('ModelRoute', release)}/${name}`
    expect(await edit(cleaner, 'ModelRoute', release, name, { labels: {} })).toContain(there)
    expect(await ask(cleaner, 'DELETE', path)).toBe(200)
  })
})

// The last test: it takes the operator's other policy away, which refuses these, too. Only one of two refusals is reported.
test("by this policy only, the operator's mirrors need no label in the release's namespace, and only there", async () => {
  await cluster.kubectlOk(['delete', 'validatingadmissionpolicybinding', 'model-gateway-operator-objects'])
  await vi.waitFor(async () =>
    expect(await create(operator, 'ApiKey', release)).toContain('may not use organization acme'),
  )
  expect(await create(operator, 'ApiKey', release, { labels: mirrorLabels })).toBe(201)
  const elsewhere = await cluster.createNamespace()
  const wouldBe = object('ApiKey', { labels: mirrorLabels })
  // RBAC keeps it from there too: this is only the policy.
  const admin = await cluster.addUser(deployed.operator, ['system:masters'])
  expect(await ask(admin, 'POST', collectionOf('ApiKey', elsewhere), wouldBe)).toContain('may not use')
})
