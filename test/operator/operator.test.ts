import { randomUUID } from 'node:crypto'
import { beforeAll, expect, test, vi } from 'vitest'
import { createKey, revokeKey } from '#core/keys/key-store'
import { ownKeyClusterOfThisFile, type Team } from '../support/api-key-cluster.ts'
import { deployed } from '../support/cluster.ts'
import { pepper } from '../support/customer.ts'
import { operatorsOfThisFile, shippedLease } from '../support/operator.ts'
import { patient } from '../support/patient-gateway.ts'
import type { Process } from '../support/processes.ts'
import { readMetric } from '../support/read-metric.ts'
import { inTestScope } from '../support/scope.ts'
import { post } from '../support/stack.ts'
import { gateOfThisTest } from '../support/tcp-gate.ts'

// The whole thing as an installation has it: two operators with the shipped permissions and policies, worker, gateway.
const operators = operatorsOfThisFile()
const { cluster, stack, createTeam, gatewayStatus } = await ownKeyClusterOfThisFile({ deploy: 'installed' })
const { namespace } = deployed
const apiVersion = 'modelgateway.dev/v1alpha1'
const backends = [{ name: 'main', providerRef: { name: 'scripted' }, model: 'm' }]
const refusals: string[] = []
let gateway: Process
let team: Team

async function startOperator(
  env: Readonly<Record<string, string>> = shippedLease,
  databaseUrl = stack.database.url,
): Promise<Process> {
  const user = await cluster.addUser(deployed.operator)
  return operators.start({ cluster, databaseUrl, namespace, user }, env, (line) => {
    if (/forbidden|ClusterRefused|denied/i.test(line)) refusals.push(line)
  })
}

beforeAll(async () => {
  await stack.startWorker()
  gateway = await stack.startGateway(patient)
  team = await createTeam()
})

async function apply(kind: string, name: string, spec: object): Promise<void> {
  const object = { apiVersion, kind, metadata: { name, namespace }, spec }
  await cluster.kubectlOk(['apply', '-f', '-'], JSON.stringify(object))
}

function untilReadyInRelease(kind: string, name: string): Promise<string> {
  return cluster.kubectlOk([
    '-n',
    namespace,
    'wait',
    '--for=condition=Ready',
    `${kind}/${name}`,
    '--timeout=20s',
  ])
}

test('with exactly the rights that are shipped it makes keys, serves routes and shows the cabinet’s keys', async () => {
  const operator = await startOperator()
  const { OPENAI_API_KEY: text = '' } = await team.apply('ci').then(() => team.readyValues('ci'))
  expect(await gatewayStatus(gateway, text)).toBe(200)
  await apply('ModelProvider', 'scripted', {
    api: 'OpenAI',
    baseURL: stack.upstream.url,
    network: { http: true, privateAddresses: true },
  })
  await apply('ModelRoute', 'm', {
    model: 'scripted/m',
    free: true,
    backends,
  })
  await untilReadyInRelease('modelroute', 'm')
  const answer = await post(gateway, text, {
    model: 'scripted/m',
    messages: [{ role: 'user', content: 'x' }],
  })
  expect(answer.status).toBe(200)
  const { organizationId } = team
  const { keyId } = await inTestScope(stack.database.pool, (client) =>
    createKey(client, { organizationId, name: randomUUID(), managedBy: 'cabinet' }, pepper),
  )
  await vi.waitFor(() => untilReadyInRelease('apikey', keyId))
  await inTestScope(stack.database.pool, (client) => revokeKey(client, keyId))
  await vi.waitFor(async () =>
    expect((await cluster.kubectl(['-n', namespace, 'get', 'apikey', keyId])).code).not.toBe(0),
  )
  await team.apply('ci', { rotation: { trigger: 'now', gracePeriod: '0s' } })
  await vi.waitFor(async () => expect(await gatewayStatus(gateway, text)).toBe(401))
  await team.remove('ci')
  await team.untilGone('ci')
  const routes = 'operator_resource_ready{kind="ModelRoute",reason="Programmed"}'
  expect(await readMetric(operator, routes)).toBe(1)
  expect(refusals).toEqual([])
  expect(
    await cluster.kubectlOk(['-n', namespace, 'get', 'lease', 'model-gateway-operator', '-o', 'name']),
  ).toBe('lease.coordination.k8s.io/model-gateway-operator\n')
  await operator.stop()
})

test('when the leader is killed, frozen or stopped, another one continues, and no key is created twice', async () => {
  const first = await startOperator()
  await team.apply('before')
  await team.untilReady('before')
  const second = await startOperator()
  await first.kill()
  await team.apply('after-kill')
  await team.untilReady('after-kill')
  const third = await startOperator()
  second.freeze()
  await team.apply('after-freeze')
  await team.untilReady('after-freeze')
  second.thaw()
  await vi.waitFor(() => expect(second.exitCode()).toBe(1), { timeout: 20_000 })
  const fourth = await startOperator()
  await third.stop()
  expect(third.exitCode()).toBe(0)
  await team.apply('after-stop')
  await team.untilReady('after-stop')
  const { rows } = await stack.database.pool.query<{ name: string; count: number }>(
    'select name, count(*)::int as count from api_keys where organization_id = $1 group by name having count(*) > 1',
    [team.organizationId],
  )
  expect(rows).toEqual([])
  await fourth.stop()
}, 90_000)

test('what happens while API server and etcd are killed, and while no operator runs, is not missed', async () => {
  await team.apply('stays')
  await team.apply('goes')
  const operator = await startOperator({}) // outlasts an API server that is unavailable for 10 s
  const { OPENAI_API_KEY: stays = '' } = await team.readyValues('stays')
  const { OPENAI_API_KEY: goes = '' } = await team.readyValues('goes')
  await cluster.apiServer.kill()
  await cluster.etcd.kill()
  expect(await gatewayStatus(gateway, stays)).toBe(200)
  await cluster.etcd.restart()
  await cluster.apiServer.restart()
  await team.remove('goes')
  await vi.waitFor(async () => expect(await gatewayStatus(gateway, goes)).toBe(401), { timeout: 30_000 })
  // A restarted API server refuses it until it knows again what the policies refer to.
  await vi.waitFor(() => team.apply('comes'), { timeout: 30_000, interval: 200 })
  await team.untilReady('comes')
  await operator.stop()
  await team.remove('stays')
  await cluster.kubectlOk(['-n', namespace, 'delete', 'modelroute', 'm', '--ignore-not-found'])
  const next = await startOperator()
  await vi.waitFor(async () => expect(await gatewayStatus(gateway, stays)).toBe(401), { timeout: 30_000 })
  await vi.waitFor(async () => {
    const { rowCount } = await stack.database.pool.query(
      "select from model_routes where model = 'scripted/m'",
    )
    expect(rowCount).toBe(0)
  })
  await next.stop()
}, 90_000)

test('one with another pepper does not start, and one that could not ask Postgres ends before it leads', async () => {
  const { host } = new URL(stack.database.url)
  const other = { ...shippedLease, KEY_PEPPER: 'another pepper, 32 characters long' }
  const refused = startOperator(other)
  await expect(refused).rejects.toThrow(
    'KEY_PEPPER is not the one that the API keys of this database were made with',
  )
  await expect(refused).rejects.not.toThrow(other.KEY_PEPPER)
  const gate = await gateOfThisTest(Number(host.split(':')[1]))
  gate.shut()
  const databaseUrl = Object.assign(new URL(stack.database.url), { host: `127.0.0.1:${gate.port}` })
  const unaware = await startOperator(other, databaseUrl.href)
  gate.open()
  await vi.waitFor(() => expect(unaware.exitCode()).toBe(1), { timeout: 20_000 })
})

test('looks that fail for want of the database are counted, and made up for', async () => {
  const databaseUrl = new URL(stack.database.url)
  const gate = await gateOfThisTest(Number(databaseUrl.port))
  databaseUrl.host = `127.0.0.1:${gate.port}`
  const operator = await startOperator({}, databaseUrl.href)
  await apply('ModelRoute', 'seen', { model: 'scripted/seen', free: true, backends })
  const accepted = (name: string) =>
    cluster.kubectlOk([
      '-n',
      namespace,
      'wait',
      '--for=condition=Accepted',
      `modelroute/${name}`,
      '--timeout=20s',
    ])
  await accepted('seen')
  expect(await readMetric(operator, 'operator_db_errors_total')).toBe(0)
  gate.shut()
  await apply('ModelRoute', 'unseen', { model: 'scripted/unseen', free: true, backends })
  await vi.waitFor(
    async () => expect(await readMetric(operator, 'operator_db_errors_total')).toBeGreaterThan(0),
    { timeout: 20_000 },
  )
  gate.open()
  await accepted('unseen')
}, 90_000)
