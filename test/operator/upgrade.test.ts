import { execFile } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, test, vi } from 'vitest'
import { parseDocument } from 'yaml'
import { createKey } from '#core/keys/key-store'
import { apiVersion, group } from '#crds/resource'
import { ownKeyClusterOfThisFile, type Team } from '../support/api-key-cluster.ts'
import { deployed } from '../support/cluster.ts'
import { pepper } from '../support/customer.ts'
import { inheritedEnvironment } from '../support/environment.ts'
import { folderOfThisTest } from '../support/folder.ts'
import { findKubeAssets } from '../support/kube-assets.ts'
import { operatorsOfThisFile } from '../support/operator.ts'
import { patient } from '../support/patient-gateway.ts'
import type { Process } from '../support/processes.ts'
import { shellBlocksOf } from '../support/readme-commands.ts'
import { inTestScope } from '../support/scope.ts'
import { post } from '../support/stack.ts'
import { goodSpecs } from './good-specs.ts'
import { bareSpecs, faultsOf, type Kind, objectOf } from './specs.ts'

// One story: each test goes on where the one before it has left the cluster.
const operators = operatorsOfThisFile()
const { cluster, stack, createTeam, gatewayStatus } = await ownKeyClusterOfThisFile({ deploy: 'installed' })
const release = deployed.namespace
const kinds = ['ApiKey', 'ModelProvider', 'ModelRoute'] as const
const previous = globSync('test/operator/previous-release/*.yaml')
const today = globSync('crds/*.yaml')
/** A field that definitions of today do not know. */
const dropped = 'droppedSince'
let team: Team
let gateway: Process
let operator: Process

type Stored = { readonly kind: Kind; readonly path: string; readonly spec: object }

const pathOf = (kind: Kind, namespace: string, version = 'v1alpha1') =>
  `/apis/${group}/${version}/namespaces/${namespace}/${kind.toLowerCase()}s`

/** Applies definitions as people do, perhaps changed. */
async function applyDefinitions(
  files: readonly string[],
  change: (definition: ReturnType<typeof parseDocument>) => void = () => undefined,
): Promise<void> {
  const texts = files.map((file) => {
    const definition = parseDocument(readFileSync(file, 'utf8'))
    change(definition)
    return definition.toString()
  })
  await cluster.kubectlOk(['apply', '--server-side', '-f', '-'], texts.join('---\n'))
  const wait = ['wait', '--for=condition=Established', '--timeout=20s', '-f', '-']
  await cluster.kubectlOk(wait, texts.join('---\n'))
}

function withDropped(definition: ReturnType<typeof parseDocument>): void {
  const spec = ['spec', 'versions', 0, 'schema', 'openAPIV3Schema', 'properties', 'spec', 'properties']
  definition.setIn([...spec, dropped], definition.createNode({ type: 'string' }))
}

/** Today's definitions with these versions, of which the last is stored. */
function withVersions(...names: readonly string[]) {
  return (definition: ReturnType<typeof parseDocument>) => {
    const [version] = definition.toJS().spec.versions
    const versions = names.map((name) => ({
      ...version,
      name,
      storage: name === names.at(-1),
      ...(name === names.at(-1) ? {} : { deprecated: true }),
    }))
    definition.setIn(['spec', 'versions'], definition.createNode(versions, { aliasDuplicateObjects: false }))
    definition.setIn(['spec', 'conversion'], definition.createNode({ strategy: 'None' }))
  }
}

/** Creates it if the definitions of the moment take it. The API server needs a moment for new definitions. */
async function tryStore(kind: Kind, namespace: string, object: object): Promise<Stored | undefined> {
  const collection = pathOf(kind, namespace)
  const { status, body } = await vi.waitFor(async () => {
    const answer = await cluster.request('POST', `${collection}?fieldValidation=Strict`, object)
    expect([201, 400, 422]).toContain(answer.status)
    return answer
  })
  if (status !== 201) return undefined // a field or a value that they do not know
  const { metadata, spec } = body as { metadata: { name: string }; spec: object }
  return { kind, path: `${collection}/${metadata.name}`, spec }
}

const stored: Stored[] = []

beforeAll(async () => {
  await stack.startWorker()
  gateway = await stack.startGateway(patient)
  team = await createTeam()
  await cluster.kubectlOk(['delete', '-f', 'crds/'])
  await applyDefinitions(previous, withDropped)
}, 60_000)

test('everything that the previous release took is stored under its definitions', async () => {
  const place = await cluster.createNamespace('acme')
  await cluster.kubectlOk(['annotate', 'namespace', place, 'modelgateway.dev/may-offer=*'])
  const specs = [...kinds.map((kind) => [kind, {}] as const), ...goodSpecs]
  for (const [number, [kind, change]] of specs.entries()) {
    const object = objectOf(kind, change, `stored-${number}`)
    const organization = kind === 'ApiKey' ? { organization: 'acme' } : {}
    const spec = { ...object.spec, ...organization, [dropped]: 'x' }
    const made = await tryStore(kind, place, { ...object, spec })
    if (made !== undefined) stored.push(made)
  }
  expect(stored.length).toBeGreaterThan(15)
  const network = { http: true, privateAddresses: true }
  const provider = { api: 'OpenAI', baseURL: stack.upstream.url, network, [dropped]: 'x' }
  const backends = [{ name: 'main', providerRef: { name: 'old' }, model: 'old' }]
  const route = { ...bareSpecs.ModelRoute, model: 'old/m', backends, [dropped]: 'x' }
  const key = { organization: team.organization, [dropped]: 'x' }
  await tryStore('ModelProvider', release, objectOf('ModelProvider', provider, 'old'))
  await tryStore('ModelRoute', release, objectOf('ModelRoute', route, 'old'))
  await tryStore('ApiKey', team.namespace, objectOf('ApiKey', key, 'old'))
})

test('under the definitions of today all of it is there and valid, but for fields that are gone', async () => {
  await applyDefinitions(today)
  await storeQuota()
  for (const { kind, path, spec } of stored) {
    const { [dropped]: gone, ...kept } = spec as Record<string, unknown>
    expect(gone).toBe('x')
    const object = await vi.waitFor(async () => {
      const { body } = await cluster.request('GET', path)
      expect(body).not.toHaveProperty(`spec.${dropped}`)
      return body as { readonly spec: object; readonly metadata: object }
    })
    expect(object.spec).toMatchObject(kept)
    expect(faultsOf(kind, object)).toEqual([])
    expect(await cluster.request('PUT', path, object)).toMatchObject({ status: 200 })
    const copy = { ...object, metadata: { name: 'copy' } }
    const collection = path.slice(0, path.lastIndexOf('/'))
    const tried = await cluster.request('POST', `${collection}?dryRun=All&fieldValidation=Strict`, copy)
    expect(tried).toMatchObject({ status: 201 })
  }
})

/** The previous release has no such kind. */
async function storeQuota(): Promise<void> {
  const quota = { apiVersion, kind: 'ApiKeyQuota', metadata: { name: 'old' }, spec: { apiKeys: 7 } }
  const apply = ['-n', team.namespace, 'apply', '-f', '-']
  await vi.waitFor(() => cluster.kubectlOk(apply, JSON.stringify(quota)))
}

async function untilServed(model: string, key: string): Promise<void> {
  await vi.waitFor(
    async () => {
      const messages = [{ role: 'user', content: 'x' }]
      expect((await post(gateway, key, { model, messages })).status).toBe(200)
    },
    { timeout: 20_000 },
  )
}

test('the operator of today brings what the previous release stored to a request that is answered', async () => {
  const user = await cluster.addUser(deployed.operator)
  operator = await operators.start({ cluster, databaseUrl: stack.database.url, namespace: release, user })
  const { OPENAI_API_KEY: key = '' } = await team.readyValues('old')
  await untilServed('old/m', key)
})

test('while two versions are served, both are the same objects, and the operator goes on', async () => {
  const { organizationId } = team
  const made = { organizationId, name: 'mirrored', managedBy: 'cabinet' } as const
  const { keyId } = await inTestScope(stack.database.pool, (client) => createKey(client, made, pepper))
  await applyDefinitions(today, withVersions('v1alpha1', 'v1beta1'))
  const { organization, namespace } = team
  const path = pathOf('ApiKey', namespace, 'v1beta1')
  await vi.waitFor(async () => {
    const object = { ...objectOf('ApiKey', { organization }, 'beta'), apiVersion: `${group}/v1beta1` }
    expect([201, 409]).toContain((await cluster.request('POST', path, object)).status)
  })
  const { OPENAI_API_KEY: key = '' } = await team.readyValues('beta')
  expect(await gatewayStatus(gateway, key)).toBe(200)
  const { stderr } = await cluster.kubectl(['-n', namespace, 'get', 'apikeys.v1alpha1.modelgateway.dev'])
  expect(stderr).toContain('deprecated')
  await vi.waitFor(() => cluster.kubectlOk(['-n', release, 'get', 'apikey', keyId]))
  await operator.stop()
})

test('after the commands of the README one version is enough: nothing is lost', async () => {
  const before = await namesOfAll('v1alpha1')
  // Not before: what is stored as v1alpha1 could not be read any more.
  await expect(applyDefinitions(today, withVersions('v1beta1'))).rejects.toThrow('storedVersions')
  const { kubectl } = await findKubeAssets()
  const [commands = ''] = shellBlocksOf('Versions', 'docs/operate/operator.md')
  await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', commands], {
    env: {
      PATH: `${dirname(kubectl)}:${inheritedEnvironment.PATH}`,
      HOME: folderOfThisTest('upgrade'),
      KUBECONFIG: cluster.kubeconfigPath,
    },
  })
  await applyDefinitions(today, withVersions('v1beta1'))
  await vi.waitFor(async () => expect(await namesOfAll('v1beta1')).toEqual(before))
  const { body: quota } = await cluster.request(
    'GET',
    `/apis/${group}/v1beta1/namespaces/${team.namespace}/apikeyquotas/old`,
  )
  expect(quota).toMatchObject({ spec: { apiKeys: 7 } })
  for (const { kind, path } of stored) {
    const name = path.slice(path.lastIndexOf('/') + 1)
    const namespace = path.split('/')[5] ?? ''
    const beta = join(pathOf(kind, namespace, 'v1beta1'), name)
    await vi.waitFor(async () => {
      expect(await cluster.request('GET', beta)).toMatchObject({ status: 200 })
      expect((await cluster.request('GET', path)).status).toBe(404)
    })
  }
}, 120_000)

/** All objects of our kinds, read in one version. */
async function namesOfAll(version: string): Promise<readonly string[]> {
  const lists = kinds.map(async (kind) => {
    const { status, body } = await cluster.request('GET', `/apis/${group}/${version}/${kind.toLowerCase()}s`)
    expect(status).toBe(200)
    const { items } = body as { items: { metadata: { namespace: string; name: string } }[] }
    return items.map(({ metadata }) => `${kind} ${metadata.namespace}/${metadata.name}`)
  })
  return (await Promise.all(lists)).flat()
}
