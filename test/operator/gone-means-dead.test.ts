import { afterEach, beforeAll, expect, test, vi } from 'vitest'
import { apiKeys } from '#operator/runtime/resources'
import { keyClusterOfThisFile, type Team } from '../support/api-key-cluster.ts'
import { freshName, statusOf } from '../support/live-keys.ts'
import { operatorsOfThisFile } from '../support/operator.ts'
import { patient } from '../support/patient-gateway.ts'
import type { Process } from '../support/processes.ts'
import { readMetric } from '../support/read-metric.ts'

// A worker that is unavailable while ApiKeys are deleted: gateways go on accepting keys that the database has revoked.
const operators = operatorsOfThisFile()
const { cluster, stack, client, createTeam, settledStatus } = await keyClusterOfThisFile()
const namespace = await cluster.createNamespace()
const logged: string[] = []
let worker: Process
let gateway: Process
let team: Team
let operator: Process

beforeAll(async () => {
  worker = await stack.startWorker()
  gateway = await stack.startGateway(patient)
  team = await createTeam()
})

afterEach(async () => {
  await operator.stop()
  if (worker.hasEnded()) worker = await stack.startWorker()
})

async function startOperator(env: Readonly<Record<string, string>> = {}): Promise<void> {
  const surroundings = { cluster, databaseUrl: stack.database.url, namespace }
  operator = await operators.start(surroundings, env, (line) => void logged.push(line))
}

/** A key that works, and no worker any more. */
async function createAndLoseWorker() {
  const name = freshName()
  await team.apply(name)
  const { OPENAI_API_KEY: text = '' } = await team.readyValues(name)
  const keyId = statusOf(await team.find(name)).keyID ?? ''
  expect(await settledStatus(gateway, text)).toBe(200)
  await worker.kill()
  return { name, text, keyId }
}

const untilGone = (name: string, timeout = 20_000) =>
  vi.waitFor(async () => expect(await team.find(name)).toBeUndefined(), { timeout, interval: 50 })
const untilMetric = (series: string, value: number) =>
  vi.waitFor(async () => expect(await readMetric(operator, `operator_${series}`)).toBe(value), {
    timeout: 15_000,
  })
const waiting = 'deletion_blocked{kind="ApiKey",waits_for="gateways"}'
const untilEvent = (name: string, reason: string) =>
  vi.waitFor(async () => expect(await team.events(name)).toContain(reason), {
    timeout: 10_000,
    interval: 100,
  })

test('an ApiKey stays until the gateways reject its key, and reports that it waits', async () => {
  await startOperator()
  const { name, text } = await createAndLoseWorker()
  await team.remove(name)
  const { Ready, Programmed } = await team.untilReady(name, 'Revoking')
  expect(Ready?.message).toContain('gateways may still accept it until a worker sends them the revocation')
  expect(Programmed).toMatchObject({ status: 'False', reason: 'GatewaysPending' })
  await untilMetric(waiting, 1)
  await untilMetric('revocations_unconfirmed', 1)
  // The event comes after half a minute: the object and the key are still there.
  await vi.waitFor(async () => expect(await team.events(name)).toContain('RevocationPending'), {
    timeout: 45_000,
  })
  expect(await team.find(name)).toBeDefined()
  expect(await settledStatus(gateway, text)).toBe(200)
  expect(await team.events(name)).not.toContain('KeyRevoked')
  worker = await stack.startWorker()
  await untilGone(name)
  expect(await settledStatus(gateway, text)).toBe(401)
  await untilEvent(name, 'KeyRevoked')
  await untilMetric(waiting, 0)
  await untilMetric('revocations_unconfirmed', 0)
  expect(await readMetric(operator, 'operator_deletions_unconfirmed_total')).toBe(0)
}, 90_000)

test('after the configured time it is released, and no event reports its key as revoked', async () => {
  await startOperator({ OPERATOR_REVOCATION_WAIT_MS: '3000' })
  const { name, text, keyId } = await createAndLoseWorker()
  const deletedAtMs = Date.now()
  await team.remove(name)
  await untilGone(name)
  expect(Date.now() - deletedAtMs).toBeGreaterThan(1_900) // the API server writes whole seconds
  expect(await settledStatus(gateway, text)).toBe(200)
  await untilEvent(name, 'RevocationUnconfirmed')
  expect(await team.events(name)).not.toContain('KeyRevoked')
  expect(logged.some((line) => line.includes(`${team.namespace}/${name}`) && line.includes(keyId))).toBe(true)
  expect(await readMetric(operator, 'operator_deletions_unconfirmed_total')).toBe(1)
  await untilMetric('revocations_unconfirmed', 1)
  worker = await stack.startWorker()
  await untilMetric('revocations_unconfirmed', 0)
  expect(await settledStatus(gateway, text)).toBe(401)
}, 60_000)

test('the override annotation lets it go at once', async () => {
  await startOperator()
  const { name } = await createAndLoseWorker()
  await team.remove(name)
  await team.untilReady(name, 'Revoking')
  await cluster.kubectlOk([
    '-n',
    team.namespace,
    'annotate',
    'apikey',
    name,
    'modelgateway.dev/deletion-policy-override=Orphan',
  ])
  await untilGone(name)
  await untilEvent(name, 'RevocationUnconfirmed')
}, 60_000)

test('the next operator goes on waiting, for no longer than the first would have', async () => {
  const waitMs = 10_000
  const env = { OPERATOR_REVOCATION_WAIT_MS: String(waitMs) }
  await startOperator(env)
  const { name } = await createAndLoseWorker()
  const deletedAtMs = Date.now()
  await team.remove(name)
  await team.untilReady(name, 'Revoking')
  await operator.stop()
  const startedAgainAtMs = Date.now()
  await startOperator(env)
  await untilGone(name, 30_000)
  expect(Date.now()).toBeGreaterThan(deletedAtMs + waitMs - 1_100) // the API server writes whole seconds
  expect(Date.now()).toBeLessThan(startedAgainAtMs + waitMs - 500)
}, 60_000)

test('a key whose ApiKey went without its finalizer is not called dead while the gateways accept it', async () => {
  await startOperator({ OPERATOR_REVOCATION_WAIT_MS: '8000' })
  const { name, text } = await createAndLoseWorker()
  const blocker = await stack.database.pool.connect()
  // The operator's looks stand still: it does not put its finalizer back.
  await blocker.query('begin; lock table cluster_resources in access exclusive mode')
  const object = await team.find(name)
  if (object === undefined) throw new Error(`${name} is gone already`)
  await client.patch(apiKeys, object, { metadata: { finalizers: [] } })
  await team.remove(name)
  await blocker.query('rollback')
  blocker.release()
  await untilMetric('revocations_unconfirmed', 1)
  await vi.waitFor(async () => expect(await team.events(name)).toContain('RevocationUnconfirmed'), {
    timeout: 30_000,
  })
  expect(await settledStatus(gateway, text)).toBe(200)
  expect(await team.events(name)).not.toContain('KeyRevoked')
  worker = await stack.startWorker()
  await untilMetric('revocations_unconfirmed', 0)
  expect(await settledStatus(gateway, text)).toBe(401)
}, 60_000)
