import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createKey } from '#core/keys/key-store'
import { createOrganization, findOrganization } from '#core/organizations/organization-store'
import { apiVersion } from '#crds/resource'
import { requireFreePort } from '#standalone/port'
import { startRedis } from '#standalone/redis'
import { clusterOfThisFile } from '../support/cluster.ts'
import { pepper } from '../support/customer.ts'
import { inheritedEnvironment } from '../support/environment.ts'
import { folderOfThisTest } from '../support/folder.ts'
import { findKubeAssets } from '../support/kube-assets.ts'
import { operatorsOfThisFile } from '../support/operator.ts'
import { createDatabase } from '../support/postgres.ts'
import { shellBlocksOf, yamlBlocksOf } from '../support/readme-commands.ts'
import { inTestScope } from '../support/scope.ts'

const operators = operatorsOfThisFile()
const cluster = await clusterOfThisFile()

test('the kubectl walkthrough leads to a response, on a fresh cluster and an empty database', async () => {
  await cluster.kubectlOk(['delete', '--ignore-not-found', '-f', 'crds/'])
  await using database = await createDatabase({ template: 'template0' })
  await using redis = await startRedis({ appendonly: 'no' })
  const state = folderOfThisTest('with-kubectl')
  const [places = '', ...commands] = shellBlocksOf('Walkthrough', 'docs/operate/kubectl.md')
  const ownPlaces: Record<string, string> = {
    KUBECONFIG: cluster.kubeconfigPath,
    DATABASE_URL: database.url,
    REDIS_URL: redis.url,
    STATE: state,
  }
  for (const [, name = ''] of places.matchAll(/(\w+_PORT)=/g)) ownPlaces[name] = String(await findQuietPort())
  const [models = ''] = yamlBlocksOf('First key', 'docs/operate/operations.md')
  writeFileSync(join(state, 'models.yaml'), atDemoProvider(models, ownPlaces.DEMO_PROVIDER_PORT ?? ''))
  const firstKey = shellBlocksOf('First key', 'docs/operate/operations.md')
  const followed = [
    withPlaces(places, ownPlaces),
    ...commands,
    'cd "$STATE"; PROVIDER_KEY=any-text',
    ...firstKey,
  ]
  const said = await runCommands(followed.join('\n'), state)
  expect(said, logsIn(state)).toContain('"content":"Hello"')
  expect(said).toContain('apikey.modelgateway.dev/ci condition met')

  const organization = await findOrganization(database.pool, 'acme')
  const key = { organizationId: organization?.id ?? '', name: 'laptop', managedBy: 'cabinet' } as const
  const { keyId } = await inTestScope(database.pool, (client) => createKey(client, key, pepper))
  const wait = ['wait', '--for=condition=Ready', `apikey/${keyId}`, '--timeout=1s']
  await vi.waitFor(() => cluster.kubectlOk(['-n', 'model-gateway', ...wait]))
  const log = readFileSync(join(state, 'operator.log'), 'utf8').split('\n')
  // So the API server answers for a moment after it was given the CRDs.
  const unexpected = log.filter((line) => !line.includes('storage is (re)initializing'))
  expect(unexpected.join('\n')).not.toMatch(/"level":[456]0/)
}, 180_000)

test('a key that waits because no worker runs reports it, and a route does, too', async () => {
  await using database = await createDatabase()
  const namespace = await cluster.createNamespace('acme')
  await cluster.kubectlOk(['annotate', 'namespace', namespace, 'modelgateway.dev/may-offer=without/*'])
  await inTestScope(database.pool, (client) => createOrganization(client, 'acme'))
  await operators.start({ cluster, databaseUrl: database.url, namespace })
  const backends = [{ name: 'main', providerRef: { name: 'x' }, model: 'm' }]
  const objects = [
    { kind: 'ApiKey', spec: { organization: 'acme' } },
    { kind: 'ModelProvider', spec: { api: 'OpenAI', baseURL: 'https://llm.example/v1' } },
    { kind: 'ModelRoute', spec: { model: 'without/worker', free: true, backends } },
  ]
  for (const object of objects) {
    const whole = { apiVersion, metadata: { name: 'x', namespace }, ...object }
    await cluster.kubectlOk(['apply', '-f', '-'], JSON.stringify(whole))
  }
  const messageOf = async (kind: string) =>
    cluster.kubectlOk([
      '-n',
      namespace,
      'get',
      kind,
      'x',
      '-o',
      'jsonpath={.status.conditions[?(@.type=="Ready")].message}',
    ])
  await vi.waitFor(async () => {
    expect(await messageOf('apikey')).toContain('no worker has copied the latest change to this key')
    expect(await messageOf('modelroute')).toBe('No gateway is running, or no worker that reports it')
  })
}, 60_000)

/** A free port that no outgoing connection gets: what takes it is bound only minutes later. */
async function findQuietPort(): Promise<number> {
  const port = 10_000 + randomInt(20_000)
  return requireFreePort(port, '127.0.0.1', '').then(() => port, findQuietPort)
}

/** The models of the document at the demo provider, as the walkthrough describes. */
function atDemoProvider(models: string, port: string): string {
  const network = 'network: { http: true, privateAddresses: true }'
  const changes = [
    ['https://api.openai.com/v1', `http://127.0.0.1:${port}/v1\n  ${network}`],
    ['model: gpt-5-mini }', 'model: echo }'],
  ] as const
  return changes.reduce((text, [from, to]) => {
    expect(text).toContain(from)
    return text.replace(from, to)
  }, models)
}

/** The block with other values; a value that the document does not name is an error. */
function withPlaces(block: string, places: Readonly<Record<string, string>>): string {
  return Object.entries(places).reduce((text, [name, value]) => {
    const setting = new RegExp(`\\b${name}=\\S+`)
    expect(text).toMatch(setting)
    return text.replace(setting, () => `${name}='${value}'`)
  }, block)
}

/**
 * Runs commands like a user who pastes them, in the root of the project. Whatever they have started ends with
 * this test.
 */
async function runCommands(commands: string, home: string): Promise<string> {
  const { kubectl } = await findKubeAssets()
  const shell = spawn('bash', ['-euo', 'pipefail', '-c', commands], {
    env: { ...inheritedEnvironment, PATH: `${dirname(kubectl)}:${inheritedEnvironment.PATH}`, HOME: home },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true, // a separate process group
  })
  const group = -(shell.pid ?? Number.NaN)
  const end = () => {
    try {
      process.kill(group, 'SIGKILL')
    } catch {} // all of it has ended
  }
  process.once('exit', end)
  onTestFinished(() => {
    process.off('exit', end)
    end()
  })
  let said = ''
  for (const stream of [shell.stdout, shell.stderr]) stream.on('data', (chunk) => (said += String(chunk)))
  const [code] = await once(shell, 'close')
  expect(code, `${said}\n${logsIn(home)}`).toBe(0)
  return said
}

function logsIn(folder: string): string {
  const logs = ['worker', 'gateway', 'provider', 'operator'].map((name) => join(folder, `${name}.log`))
  return logs.flatMap((path) => readIfThere(path)).join('\n')
}

function readIfThere(path: string): readonly string[] {
  try {
    return [`${path}:\n${readFileSync(path, 'utf8').slice(-3_000)}`]
  } catch {
    return []
  }
}
