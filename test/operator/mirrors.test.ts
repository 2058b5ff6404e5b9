import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { readKeyState } from '#core/keys/key-state'
import { blockKey, createKey, revokeKey, setLimits } from '#core/keys/key-store'
import { nanoRub } from '#core/ledger/money'
import { createOrganization } from '#core/organizations/organization-store'
import { createManifestApplier } from '#standalone/manifests/internal/apply-manifests'
import { readOwned } from '#standalone/manifests/internal/owned'
import { planManifests } from '#standalone/manifests/internal/plan-manifests'
import { createFolderReader } from '#standalone/manifests/internal/read-folder'
import { clusterOfThisFile } from '../support/cluster.ts'
import { pepper } from '../support/customer.ts'
import { folderOfThisTest } from '../support/folder.ts'
import { operatorsOfThisFile } from '../support/operator.ts'
import { patient } from '../support/patient-gateway.ts'
import type { Process } from '../support/processes.ts'
import { readMetric } from '../support/read-metric.ts'
import { inTestScope } from '../support/scope.ts'
import { signedIn } from '../support/signed-in.ts'
import { post, stackOfThisFile } from '../support/stack.ts'
import { refusal } from '../support/upstream.ts'
import { startTestWeb } from '../support/web.ts'

const operators = operatorsOfThisFile()
const [cluster, stack] = await Promise.all([clusterOfThisFile(), stackOfThisFile()])
const namespace = await cluster.createNamespace()
let gateway: Process
let operator: Process

beforeAll(async () => {
  await stack.startWorker()
  gateway = await stack.startGateway(patient)
  operator = await operators.start({ cluster, databaseUrl: stack.database.url, namespace })
})

async function createCabinetKey(): Promise<{ readonly keyId: string; readonly organizationId: string }> {
  const { organizationId } = await stack.createCustomer()
  const key = { organizationId, name: `key ${randomUUID()}`, managedBy: 'cabinet' } as const
  return {
    organizationId,
    ...(await inTestScope(stack.database.pool, (client) => createKey(client, key, pepper))),
  }
}

type Mirror = {
  readonly metadata: { readonly uid: string; readonly labels?: Readonly<Record<string, string>> }
  readonly spec: Readonly<Record<string, unknown>>
  readonly status?: {
    readonly keyID?: string
    readonly managedBy?: string
    readonly conditions?: readonly {
      readonly type: string
      readonly status: string
      readonly reason: string
    }[]
  }
}

async function find(kind: string, name: string): Promise<Mirror | undefined> {
  const { code, stdout } = await cluster.kubectl(['-n', namespace, 'get', kind, name, '-o', 'json'])
  return code === 0 ? JSON.parse(stdout) : undefined
}

/** Reason of its `Ready`. */
async function readyReason(kind: string, name: string): Promise<string | undefined> {
  const mirror = await find(kind, name)
  return mirror?.status?.conditions?.find(({ type }) => type === 'Ready')?.reason
}

test('a key of the cabinet shows in the cluster, follows it, and goes when it is revoked', async () => {
  const { pool } = stack.database
  const { keyId } = await createCabinetKey()
  await vi.waitFor(async () => expect(await readyReason('apikey', keyId)).toBe('Programmed'))
  const mirror = await find('apikey', keyId)
  expect(mirror?.metadata.labels).toMatchObject({ 'modelgateway.dev/managed-by': 'cabinet' })
  expect(mirror?.status).toMatchObject({ keyID: keyId, managedBy: 'cabinet' })
  await inTestScope(pool, (client) => setLimits(client, keyId, { rpm: 7 }))
  await vi.waitFor(async () =>
    expect((await find('apikey', keyId))?.spec).toMatchObject({ limits: { requestsPerMinute: 7 } }),
  )
  await inTestScope(pool, (client) => blockKey(client, keyId, 'owner'))
  await vi.waitFor(async () => expect(await readyReason('apikey', keyId)).toBe('BlockedByCabinet'))
  await inTestScope(pool, (client) => revokeKey(client, keyId))
  await vi.waitFor(async () => expect(await find('apikey', keyId)).toBeUndefined())
})

test('a key without money is Ready: a balance is never shown in the cluster', async () => {
  const { organizationId } = await stack.createCustomer({ balanceNano: 0n })
  const key = { organizationId, name: 'without money', managedBy: 'cabinet' } as const
  const { keyId } = await inTestScope(stack.database.pool, (client) => createKey(client, key, pepper))
  await vi.waitFor(async () => expect(await readyReason('apikey', keyId)).toBe('Programmed'))
  expect(JSON.stringify((await find('apikey', keyId))?.status)).not.toMatch(/balance/i)
})

test('a key that people have made is shown once: it has no mirror next to it', async () => {
  const organization = `org-${randomUUID()}`
  await inTestScope(stack.database.pool, (client) => createOrganization(client, organization))
  const place = await cluster.createNamespace(organization)
  const object = { kind: 'ApiKey', metadata: { name: 'own', namespace: place }, spec: { organization } }
  const apiVersion = 'modelgateway.dev/v1alpha1'
  await cluster.kubectlOk(['apply', '-f', '-'], JSON.stringify({ apiVersion, ...object }))
  await cluster.kubectlOk(['-n', place, 'wait', '--for=condition=Ready', 'apikey/own', '--timeout=20s'])
  // Mirrors are read whole: once this later key has its mirror, the other one would have had it.
  const { keyId } = await createCabinetKey()
  await vi.waitFor(async () => expect(await find('apikey', keyId)).toBeDefined())
  const list = JSON.parse(await cluster.kubectlOk(['get', 'apikeys', '-A', '-o', 'json']))
  const shown = list.items.filter(({ spec }: Mirror) => spec.organization === organization)
  expect(shown).toHaveLength(1)
})

test('an edit of a mirror is undone, also a field that it had not; deleted, it comes back', async () => {
  const { keyId } = await createCabinetKey()
  await vi.waitFor(async () => expect(await readyReason('apikey', keyId)).toBe('Programmed'))
  const before = await find('apikey', keyId)
  const patch = (spec: object) =>
    cluster.kubectlOk([
      '-n',
      namespace,
      'patch',
      'apikey',
      keyId,
      '--type=merge',
      '-p',
      JSON.stringify({ spec }),
    ])
  await patch({ suspend: true, limits: { tokensPerMinute: 3 } })
  await vi.waitFor(async () => expect((await find('apikey', keyId))?.spec).toEqual(before?.spec))
  await vi.waitFor(async () => {
    const events = await cluster.kubectlOk(['-n', namespace, 'events', '--for', `apikey/${keyId}`])
    expect(events).toContain('DriftCorrected')
  })
  await cluster.kubectlOk(['-n', namespace, 'delete', 'apikey', keyId])
  await vi.waitFor(async () => {
    const after = await find('apikey', keyId)
    expect(after?.spec).toEqual(before?.spec)
    expect(after?.metadata.uid).not.toBe(before?.metadata.uid)
    expect(after?.metadata).not.toHaveProperty('finalizers')
  })
  expect(await readKeyState(stack.database.pool, keyId)).toMatchObject({ revoked: false })
})

/** The note of the event for a user who has edited a mirror. */
function untilAdvised(kind: string, name: string): Promise<string> {
  return vi.waitFor(async () => {
    const regarding = `--field-selector=involvedObject.name=${name},reason=DriftCorrected`
    const list = JSON.parse(
      await cluster.kubectlOk(['-n', namespace, 'get', 'events', regarding, '-o', 'json']),
    )
    const [event] = list.items.filter(
      (each: { involvedObject: { kind: string } }) => each.involvedObject.kind === kind,
    )
    expect(event).toBeDefined()
    return event.message
  })
}

test('the advice to a user who edits the mirror of a key leads to the desired result', async () => {
  const { keyId, organizationId } = await createCabinetKey()
  await vi.waitFor(async () => expect(await readyReason('apikey', keyId)).toBe('Programmed'))
  const wanted = { limits: { requestsPerMinute: 7 }, suspend: true }
  const edit = ['patch', 'apikey', keyId, '--type=merge', '-p', JSON.stringify({ spec: wanted })]
  await cluster.kubectlOk(['-n', namespace, ...edit])
  expect(await untilAdvised('ApiKey', keyId)).toBe(
    'Reverted a change: this object is a read-only mirror of a key of the cabinet; make the change there',
  )
  const web = await startTestWeb(stack.database)
  onTestFinished(() => web[Symbol.asyncDispose]())
  const { cookie } = await signedIn(stack.database.pool, { organizationId })
  const path = `/keys/${keyId}`
  const { headers } = await web.call('GET', path, { cookie })
  const ifMatch = { 'if-match': headers.get('etag') ?? '' }
  const changed = await web.call('PATCH', path, { cookie, headers: ifMatch, body: { rpm: 7 } })
  expect(changed.status).toBeLessThan(300)
  expect((await web.call('POST', `${path}/block`, { cookie })).status).toBeLessThan(300)
  await vi.waitFor(async () => expect((await find('apikey', keyId))?.spec).toMatchObject(wanted))
})

test('the advice to a user who edits the mirror of a route leads to the desired result', async () => {
  const name = `manifest-${randomUUID()}`
  const [folder, dataDir] = [folderOfThisTest('mirror'), folderOfThisTest('mirror-data')]
  const applyManifest = async (change: object) => {
    const head = { apiVersion: 'modelgateway.dev/v1alpha1', metadata: { name } }
    const network = { http: true, privateAddresses: true }
    const backends = [{ name: 'main', providerRef: { name }, model: 'm' }]
    const documents = [
      { ...head, kind: 'ModelProvider', spec: { api: 'OpenAI', baseURL: stack.upstream.url, network } },
      { ...head, kind: 'ModelRoute', spec: { model: `${name}/m`, free: true, backends, ...change } },
    ]
    writeFileSync(join(folder, 'all.yaml'), documents.map((each) => JSON.stringify(each)).join('\n---\n'))
    const plan = planManifests(await createFolderReader(folder).read(), readOwned(dataDir), {})
    const applier = createManifestApplier({
      pool: stack.database.pool,
      dataDir,
      keyPepper: pepper,
      sealingKeys: [Buffer.alloc(32, 7)],
      openingBalance: nanoRub(0n),
      onKeySecret: () => undefined,
    })
    expect([...plan.problems, ...(await applier.apply(plan, readOwned(dataDir)))]).toEqual([])
  }
  await applyManifest({})
  const mirror = await vi.waitFor(async () => {
    const found = await mirrorNameOf(`${name}/m`)
    expect(await readyReason('modelroute', found)).toBe('Programmed')
    return found
  })
  const wanted = { description: 'wanted' }
  const edit = ['patch', 'modelroute', mirror, '--type=merge', '-p', JSON.stringify({ spec: wanted })]
  await cluster.kubectlOk(['-n', namespace, ...edit])
  expect(await untilAdvised('ModelRoute', mirror)).toBe(
    'Reverted a change: this object is a read-only mirror of a route that was not made in a cluster; change it in administration, or in the manifest that npm start reads it from',
  )
  await applyManifest(wanted)
  await vi.waitFor(async () => expect((await find('modelroute', mirror))?.spec).toMatchObject(wanted))
})

test('an object that only claims to be a mirror goes; one that people have made stays', async () => {
  const object = (name: string, labels: object) =>
    JSON.stringify({
      apiVersion: 'modelgateway.dev/v1alpha1',
      kind: 'ModelRoute',
      metadata: { name, namespace, labels },
      spec: {
        model: `${name}/m`,
        free: true,
        backends: [{ name: 'a', providerRef: { name: 'p' }, model: 'm' }],
      },
    })
  await cluster.kubectlOk(['create', '-f', '-'], object('made', {}))
  await cluster.kubectlOk(
    ['create', '-f', '-'],
    object('forged', { 'modelgateway.dev/managed-by': 'cabinet' }),
  )
  await vi.waitFor(async () => expect(await find('modelroute', 'forged')).toBeUndefined())
  expect(await find('modelroute', 'made')).toBeDefined()
})

/** Name of the mirror of a model's route; empty: there is none. */
async function mirrorNameOf(model: string): Promise<string> {
  const list = JSON.parse(await cluster.kubectlOk(['-n', namespace, 'get', 'modelroutes', '-o', 'json']))
  return list.items.find(({ spec }: Mirror) => spec.model === model)?.metadata.name ?? ''
}

test('a route of the cabinet shows in the cluster once every gateway serves it, and goes with it', async () => {
  const model = await stack.createModel()
  await vi.waitFor(async () =>
    expect(await readyReason('modelroute', await mirrorNameOf(model))).toBe('Programmed'),
  )
  expect((await fetch(`${gateway.adminUrl}/livez`)).status).toBe(200)
  const made = await mirrorNameOf(model)
  await stack.database.pool.query('delete from model_routes where model = $1', [model])
  await vi.waitFor(async () => expect(await find('modelroute', made)).toBeUndefined())
})

test('a route of the cabinet is not Ready without its provider, or while that serves no gateway', async () => {
  const provider = `p-${randomUUID()}`
  const backends = [{ name: 'main', provider, model: provider, priority: 0, weight: 1 }]
  const model = await stack.createModel({ backends })
  const isReadyBecause = (reason: string) =>
    vi.waitFor(async () => expect(await readyReason('modelroute', await mirrorNameOf(model))).toBe(reason))
  await isReadyBecause('ProviderNotFound')
  await stack.createProvider({ name: provider })
  await isReadyBecause('Programmed')
  const { key } = await stack.createCustomer()
  stack.upstream.answer(provider, refusal(401, 'no such key'))
  await vi.waitFor(async () => {
    await post(gateway, key, { model, messages: [{ role: 'user', content: 'x' }] })
    expect(await readyReason('modelroute', await mirrorNameOf(model))).toBe('NoBackendHealthy')
  })
  const shown = ['-n', namespace, 'get', 'modelroute', await mirrorNameOf(model), '--no-headers']
  expect(await cluster.kubectlOk(shown)).toContain('0/1')
})

test('a route and a key that no resource can represent are not mirrored; a metric and an event report why', async () => {
  const timeouts = { requestMs: 99, firstByteMs: 99, streamIdleMs: 99 }
  const model = await stack.createModel({ timeouts })
  const { keyId } = await createCabinetKey()
  await inTestScope(stack.database.pool, (client) => setLimits(client, keyId, { allowedModels: ['a/b*'] }))
  const unmirrored = (kind: string) => readMetric(operator, `operator_unmirrored{kind="${kind}"}`)
  await vi.waitFor(async () => {
    expect([await unmirrored('ModelRoute'), await unmirrored('ApiKey')]).toEqual([1, 1])
    const events = await cluster.kubectlOk(['-n', namespace, 'events'])
    expect(events).toContain(`${model} (timeouts.request: must be between 0.1s and 3600s;`)
    expect(events).toContain(`${keyId} (allowedModels.0: must be <provider>/<model>`)
  })
})

test('above the cap the newest keys are not mirrored, and a metric and an event report it', async () => {
  const capped = await cluster.createNamespace()
  const keyIds = [(await createCabinetKey()).keyId, (await createCabinetKey()).keyId]
  const { rows } = await stack.database.pool.query<{ id: string }>(
    'select id from api_keys where revoked_at is null order by created_at, id limit 1',
  )
  const other = await operators.start(
    { cluster, databaseUrl: stack.database.url, namespace: capped },
    { OPERATOR_MIRROR_KEYS_MAX: '1', OPERATOR_CLUSTER_ID: 'another', OPERATOR_MIRROR_ROUTES: 'false' },
  )
  const shown = () => cluster.kubectlOk(['-n', capped, 'get', 'apikeys,modelroutes', '-o', 'name'])
  await vi.waitFor(async () => expect(await shown()).toBe(`apikey.modelgateway.dev/${rows[0]?.id}\n`))
  await vi.waitFor(async () =>
    expect(await readMetric(other, 'operator_unmirrored{kind="ApiKey"}')).toBeGreaterThanOrEqual(
      keyIds.length,
    ),
  )
  await vi.waitFor(async () =>
    expect(await cluster.kubectlOk(['-n', capped, 'events'])).toContain('MirrorsCapped'),
  )
})
