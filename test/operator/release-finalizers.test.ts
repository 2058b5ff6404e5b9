import { afterEach, beforeAll, expect, test, vi } from 'vitest'
import { revokeKey } from '#core/keys/key-store'
import { conditionsOf } from '#operator/runtime/conditions'
import { ownKeyClusterOfThisFile, type Team } from '../support/api-key-cluster.ts'
import { type ClusterUser, deployed } from '../support/cluster.ts'
import { freshName, statusOf } from '../support/live-keys.ts'
import { operatorsOfThisFile } from '../support/operator.ts'
import { patient } from '../support/patient-gateway.ts'
import type { Process } from '../support/processes.ts'
import { releaseFinalizers } from '../support/release-command.ts'
import { inTestScope } from '../support/scope.ts'

const operators = operatorsOfThisFile()
const { cluster, stack, createTeam, settledStatus } = await ownKeyClusterOfThisFile({ deploy: 'installed' })
const { namespace } = deployed
const databaseUrl = stack.database.url
/** The account of the Job, with the permissions that are shipped for it. */
let user: ClusterUser
let gateway: Process
let team: Team
let operator: Process

beforeAll(async () => {
  await stack.startWorker()
  gateway = await stack.startGateway(patient)
  team = await createTeam()
  await cluster.kubectlOk(['apply', '-f', 'operator/release-finalizers/rbac.yaml'])
  user = await cluster.addUser(`system:serviceaccount:${namespace}:model-gateway-release-finalizers`)
})

afterEach(() => operator.kill())

async function startOperator(): Promise<void> {
  const account = await cluster.addUser(deployed.operator)
  operator = await operators.start({ cluster, databaseUrl, namespace, user: account })
}

async function createReady(of = team) {
  const name = freshName()
  await of.apply(name)
  const { OPENAI_API_KEY: text = '' } = await of.readyValues(name)
  const keyId = statusOf(await of.find(name)).keyID ?? ''
  const line = `${of.namespace}/${name}: key ${keyId} (${text.slice(0, 15)}…${text.slice(-4)})`
  return { name, text, keyId, line }
}

const finalizersOf = async (name: string) => (await team.find(name))?.metadata.finalizers ?? []

test('without an operator it releases a deleted ApiKey, and reports which keys still work', async () => {
  await startOperator()
  const [deleted, kept, revoked] = [await createReady(), await createReady(), await createReady()]
  await operator.stop()
  await inTestScope(stack.database.pool, (client) => revokeKey(client, revoked.keyId))
  await vi.waitFor(async () => expect(await settledStatus(gateway, revoked.text)).toBe(401))
  await team.remove(deleted.name)
  expect(await team.find(deleted.name)).toBeDefined()
  const { code, stdout, stderr } = await releaseFinalizers({ user, databaseUrl })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toContain("Took the operator's finalizer off 3 of 3 ApiKeys.")
  expect(stdout).toContain(`${deleted.line} works`)
  expect(stdout).toContain(`${kept.line} works`)
  expect(stdout).not.toContain(revoked.keyId)
  expect(await team.find(deleted.name)).toBeUndefined()
  expect(await finalizersOf(kept.name)).toEqual([])
  const statusesOf = async () =>
    conditionsOf((await team.find(kept.name)) ?? Object()).map(({ status }) => status)
  expect(await statusesOf()).toEqual(Array(5).fill('Unknown'))
  const { Ready } = await team.untilReady(kept.name, 'OperatorRemoved')
  expect(Ready?.message).toContain('nothing updates this status')
  expect(statusOf(await team.find(kept.name)).keyID).toBe(kept.keyId)
  for (const { text } of [deleted, kept]) expect(await settledStatus(gateway, text)).toBe(200)
  // The next operator holds what is there, and blocks what has no ApiKey any more.
  await startOperator()
  await vi.waitFor(async () => expect(await finalizersOf(kept.name)).not.toEqual([]), { timeout: 20_000 })
  await vi.waitFor(async () => expect(await settledStatus(gateway, deleted.text)).toBe(403), {
    timeout: 20_000,
  })
  expect(await settledStatus(gateway, kept.text)).toBe(200)
  await team.untilReady(kept.name)
  expect(await statusesOf()).toEqual(Array(5).fill('True'))
}, 60_000)

test.each([
  { database: 'without the database', why: 'DATABASE_URL is not set' },
  {
    database: 'with a database that refuses it',
    url: `${databaseUrl}-gone`,
    why: /The database rejects the query \(error: .+ does not exist\)/,
  },
])(
  '$database it names the key of each ApiKey that it released',
  async ({ url, why }) => {
    await startOperator()
    const key = await createReady()
    await operator.stop()
    const place = url === undefined ? {} : { databaseUrl: url }
    const { code, stdout } = await releaseFinalizers({ user, ...place }, team.namespace)
    expect(code).toBe(0)
    expect(stdout).toMatch(why)
    expect(stdout).toContain(
      ', so which keys are revoked is unknown. Assume that each of these keys still works:',
    )
    expect(stdout).toContain(key.line)
    expect(await finalizersOf(key.name)).toEqual([])
  },
  60_000,
)

test('only the namespaces that are named are released', async () => {
  const other = await createTeam()
  await startOperator()
  const [key, elsewhere] = [await createReady(), await createReady(other)]
  await operator.stop()
  const { stdout } = await releaseFinalizers({ user, databaseUrl }, other.namespace)
  expect(stdout).toContain("Took the operator's finalizer off 1 of 1 ApiKeys.")
  expect(stdout).toContain(elsewhere.line)
  expect(stdout).not.toContain(key.keyId)
  expect(await finalizersOf(key.name)).not.toEqual([])
}, 60_000)

test('while an operator runs it does nothing, unless it may take over: then the operator ends, and none comes back', async () => {
  await startOperator()
  const key = await createReady()
  const refused = await releaseFinalizers({ user, databaseUrl })
  expect(refused).toMatchObject({ code: 1, stdout: '' })
  expect(refused.stderr).toMatch(/^Nothing was done: operator \S+ runs and would put the finalizers back\./)
  expect(await finalizersOf(key.name)).not.toEqual([])
  const taken = await releaseFinalizers({ user, databaseUrl }, '--take-over')
  expect(taken.code).toBe(0)
  expect(operator.exitCode()).toBe(1)
  expect(await finalizersOf(key.name)).toEqual([])
  await startOperator()
  const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/model-gateway-operator`
  const { body } = await cluster.request('GET', path)
  expect((body as { spec: object }).spec).toMatchObject({ leaseDurationSeconds: 600 })
  expect(await finalizersOf(key.name)).toEqual([])
  await cluster.request('DELETE', path)
}, 90_000)

test('an operator that was killed counts until its Lease is over', async () => {
  await startOperator()
  const key = await createReady()
  await operator.kill()
  const { code } = await releaseFinalizers({ user, databaseUrl })
  expect(code).toBe(0)
  expect(await finalizersOf(key.name)).toEqual([])
}, 60_000)

test('problems of a call are reported', async () => {
  expect(await releaseFinalizers({ user, databaseUrl }, '--all')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Usage: npm run release-finalizers -- [--take-over] [NAMESPACE...]'),
  })
})
