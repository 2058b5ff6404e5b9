import { readFileSync } from 'node:fs'
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { apiVersion } from '#crds/resource'
import { ownKeyClusterOfThisFile, type Team } from '../support/api-key-cluster.ts'
import { deployed } from '../support/cluster.ts'
import { statusOf } from '../support/live-keys.ts'
import { operatorsOfThisFile } from '../support/operator.ts'
import { patient } from '../support/patient-gateway.ts'
import type { Process } from '../support/processes.ts'
import { releaseFinalizers, runLine } from '../support/release-command.ts'

// What ends how, in whatever order an installation is taken apart, with the shipped permissions and the cluster's own controllers.
const operators = operatorsOfThisFile()
const { cluster, stack, createTeam, settledStatus } = await ownKeyClusterOfThisFile({
  deploy: 'installed',
  controllers: 'running',
})
const { namespace } = deployed
const databaseUrl = stack.database.url
const plurals = ['apikeys', 'modelroutes', 'modelproviders']
const crdPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
let gateway: Process
let operator: Process

beforeAll(async () => {
  await stack.startWorker()
  gateway = await stack.startGateway(patient)
})

afterEach(() => operator.stop())

async function startOperator(): Promise<void> {
  const user = await cluster.addUser(deployed.operator)
  operator = await operators.start({ cluster, databaseUrl, namespace, user })
}

type Key = { readonly text: string; readonly keyId: string }

/** A team with a key of either deletion policy, a provider and a route. */
async function createInstallation(): Promise<{ team: Team; revoked: Key; orphaned: Key }> {
  const team = await createTeam('orphan')
  for (const [kind, spec] of Object.entries({
    ModelProvider: { api: 'OpenAI', baseURL: 'https://api.openai.com/v1' },
    ModelRoute: {
      model: `a/${team.namespace}`,
      free: true,
      backends: [{ name: 'a', providerRef: { name: team.namespace }, model: 'a' }],
    },
  })) {
    const object = { apiVersion, kind, metadata: { name: team.namespace, namespace }, spec }
    await cluster.kubectlOk(['apply', '-f', '-'], JSON.stringify(object))
  }
  const [revoked, orphaned] = [
    await createKey(team, 'revoke', {}),
    await createKey(team, 'orphan', { deletionPolicy: 'Orphan' }),
  ]
  return { team, revoked, orphaned }
}

async function createKey(team: Team, name: string, spec: object): Promise<Key> {
  await team.apply(name, spec)
  const { OPENAI_API_KEY: text = '' } = await team.readyValues(name)
  return { text, keyId: statusOf(await team.find(name)).keyID ?? '' }
}

async function remove(path: string): Promise<void> {
  expect([200, 202, 404, 409]).toContain((await cluster.request('DELETE', path)).status)
}

/** What may be taken away, at once and without waiting for its end. */
const steps: Readonly<Record<string, (team: Team) => Promise<void>>> = {
  operator: () => operator.stop(),
  async resources(team) {
    await remove(`/apis/${apiVersion}/namespaces/${team.namespace}/apikeys`)
    for (const plural of ['modelroutes', 'modelproviders'])
      await remove(`/apis/${apiVersion}/namespaces/${namespace}/${plural}/${team.namespace}`)
  },
  namespace: (team) => remove(`/api/v1/namespaces/${team.namespace}`),
  async CRDs() {
    for (const plural of plurals) await remove(`${crdPath}/${plural}.modelgateway.dev`)
  },
}

const orders = permutationsOf(Object.keys(steps))

function permutationsOf(names: readonly string[]): readonly (readonly string[])[] {
  if (names.length < 2) return [names]
  return names.flatMap((name) =>
    permutationsOf(names.filter((other) => other !== name)).map((rest) => [name, ...rest]),
  )
}

const untilGone = (path: string) =>
  vi.waitFor(async () => expect((await cluster.request('GET', path)).status).toBe(404), {
    timeout: 60_000,
    interval: 200,
  })

async function untilEnded(team: Team): Promise<void> {
  for (const plural of plurals) await untilGone(`${crdPath}/${plural}.modelgateway.dev`)
  await untilGone(`/api/v1/namespaces/${team.namespace}`)
}

describe('removed in this order, everything ends and no key outlives its ApiKey unreported', () => {
  let survivors: readonly Key[] = []

  test.each(orders.map((order) => [order.join(', '), order] as const))(
    '%s',
    async (_title, order) => {
      await cluster.kubectlOk(['apply', '--server-side', '-f', 'crds'])
      await cluster.kubectlOk(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=30s'])
      await startOperator()
      // Their namespaces are gone: this operator revokes them.
      for (const { text } of survivors) await untilStatus(text, 401)
      const { team, revoked, orphaned } = await createInstallation()
      for (const step of order) {
        if (step === 'operator' && order.at(-1) === step) await untilEnded(team) // as `kubectl delete` waits
        await steps[step]?.(team)
      }
      expect(operator.exitCode()).toBe(0)
      const { code, stdout } = await releaseFinalizers({ user: cluster, databaseUrl })
      expect(code).toBe(0)
      await untilEnded(team)
      survivors = [revoked, orphaned].filter(({ keyId }) => stdout.includes(keyId))
      for (const key of [revoked, orphaned]) {
        const handedOver = key === orphaned && (await managerOf(key.keyId)) === 'cabinet'
        await untilStatus(key.text, survivors.includes(key) || handedOver ? 200 : 401)
        expect(handedOver && survivors.includes(key)).toBe(false)
      }
      if (order.at(-1) === 'operator') expect(survivors).toEqual([])
      if (order[0] === 'operator') expect(survivors).toHaveLength(2)
    },
    120_000,
  )
})

const untilStatus = (text: string, status: number) =>
  vi.waitFor(async () => expect(await settledStatus(gateway, text)).toBe(status), {
    timeout: 15_000,
    interval: 20,
  })

async function managerOf(keyId: string): Promise<string | undefined> {
  const { rows } = await stack.database.pool.query<{ managed_by: string }>(
    'select managed_by from api_keys where id = $1',
    [keyId],
  )
  return rows[0]?.managed_by
}

test('the way of the README leaves nothing behind, word for word', async () => {
  await cluster.kubectlOk(['apply', '--server-side', '-f', 'crds'])
  await cluster.kubectlOk(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=30s'])
  await startOperator()
  const { revoked, orphaned } = await createInstallation()
  const [whileItRuns = [], afterIt = []] = readCommands('## Uninstall')
  for (const line of whileItRuns) await runLine({ user: cluster, databaseUrl }, line)
  await operator.stop()
  const said: string[] = []
  for (const line of afterIt) said.push(await runLine({ user: cluster, databaseUrl }, line))
  expect(said.join('')).toContain("Took the operator's finalizer off 0 of 0 ApiKeys.")
  for (const { keyId } of [revoked, orphaned]) expect(said.join('')).not.toContain(keyId)
  for (const plural of plurals) await untilGone(`${crdPath}/${plural}.modelgateway.dev`)
  await untilGone(`/api/v1/namespaces/${namespace}`)
  await untilGone('/apis/rbac.authorization.k8s.io/v1/clusterroles/model-gateway-operator')
  expect(await settledStatus(gateway, revoked.text)).toBe(401)
  expect(await settledStatus(gateway, orphaned.text)).toBe(200)
}, 180_000)

test('a team can still be removed when the namespace of the release went first, with the operator in it', async () => {
  await cluster.kubectlOk(['create', 'namespace', namespace])
  await cluster.kubectlOk(['apply', '--server-side', '-f', 'crds', '-f', 'operator/deploy'])
  await cluster.kubectlOk(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=30s'])
  await startOperator()
  const { team, revoked, orphaned } = await createInstallation()
  await operator.kill()
  await cluster.kubectlOk(['delete', 'namespace', namespace, '--timeout=60s'])
  await steps.namespace?.(team)
  await steps.CRDs?.(team)
  const { code, stdout } = await releaseFinalizers({ user: cluster, databaseUrl })
  expect(code).toBe(0)
  for (const { keyId } of [revoked, orphaned]) expect(stdout).toContain(`key ${keyId}`)
  await untilEnded(team)
}, 180_000)

/** The commands of a section of the operator's page, by block. */
function readCommands(heading: string): readonly (readonly string[])[] {
  const readme = readFileSync('docs/operate/operator.md', 'utf8')
  const [, after = ''] = readme.split(`${heading}\n`)
  const [section = ''] = after.split('\n## ')
  return [...section.matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = '']) => block.trim().split('\n'))
}
