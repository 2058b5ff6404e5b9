import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { catalogClusterOfThisFile, unique } from '../support/catalog-cluster.ts'
import { operatorsOfThisFile } from '../support/operator.ts'
import { patient } from '../support/patient-gateway.ts'
import type { Process } from '../support/processes.ts'
import { post, untilOpen } from '../support/stack.ts'
import { listed, plain, refusal, startUpstream } from '../support/upstream.ts'

const operators = operatorsOfThisFile()
const catalog = await catalogClusterOfThisFile()
const { cluster, stack, namespace, apply, applyProvider, applyRoute, waitReady, until } = catalog
const gateways: Process[] = []
let key: string

beforeAll(async () => {
  await stack.startWorker()
  gateways.push(await stack.startGateway(patient), await stack.startGateway(patient))
  key = (await stack.createCustomer()).key
  await Promise.all(gateways.map(untilOpen))
  await operators.start(
    { cluster, databaseUrl: stack.database.url, namespace },
    { OPERATOR_SECRET_POLL_MS: '200' },
  )
})

async function applyCredential(name: string, apiKey: string): Promise<void> {
  const labels = { 'modelgateway.dev/provider-credential': 'true' }
  await apply({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace, labels },
    stringData: { apiKey },
  })
}

/** A provider that answers only to `key`, listing its models or serving `model`. */
async function startStrictProvider(model: string, right: string) {
  const upstream = await startUpstream()
  onTestFinished(upstream.stop)
  for (const [asked, answer] of [
    ['/models', listed(model)],
    [model, plain('Hello')],
  ] as const)
    upstream.answer(asked, ({ headers }) =>
      headers.authorization === `Bearer ${right}` ? answer : refusal(401, 'Incorrect API key provided'),
    )
  return upstream
}

async function ask(model: string): Promise<number> {
  const [gateway] = gateways
  if (gateway === undefined) return expect.fail('no gateway')
  const answer = await post(gateway, key, { model, messages: [{ role: 'user', content: 'x' }] })
  await answer.text()
  return answer.status
}

async function reasonsOfEvents(provider: string): Promise<string> {
  return cluster.kubectlOk(['-n', namespace, 'events', '--for', `modelprovider/${provider}`])
}

test('a provider without calls is not reported as healthy; one rejection is reported, and following the message fixes it', async () => {
  const name = unique('p')
  const upstream = await startStrictProvider(name, 'sk-right')
  await applyCredential(name, 'sk-wrong')
  const auth = { type: 'Bearer', secretRef: { name, key: 'apiKey' } }
  await applyProvider(name, { baseURL: upstream.url, auth })
  const model = await applyRoute(name, name)
  await waitReady(name)
  await until('modelprovider', name, { Healthy: 'Unknown/NotTried', Ready: 'True/Ready' })
  expect(upstream.requests).toEqual([])

  expect(await ask(model)).toBe(502)
  expect(await until('modelprovider', name, { Healthy: 'False/CredentialRefused' })).toBe(
    `1 of 2 gateways report: unauthorized. Put a valid credential into Secret "${name}" under the key "apiKey"`,
  )
  await until('modelprovider', name, { Ready: 'False/CredentialRefused' })
  await until('modelroute', name, { BackendsHealthy: 'False/NoBackendHealthy' })

  await applyCredential(name, 'sk-right')
  await until('modelprovider', name, { Healthy: 'Unknown/NotTried', Ready: 'True/Ready' })
  await until('modelroute', name, { Ready: 'True/Programmed' })
  expect(await ask(model)).toBe(200)
  await until('modelprovider', name, { Healthy: 'True/Healthy' })
  await vi.waitFor(async () => {
    const events = await reasonsOfEvents(name)
    expect(events).toContain('ProviderUnhealthy')
    expect(events).toContain('ProviderRecovered')
  })
})

test('a health check lists the models once per change, for any number of gateways, and charges no organization', async () => {
  const name = unique('p')
  const upstream = await startStrictProvider(name, 'sk-right')
  await applyCredential(name, 'sk-wrong')
  const auth = { type: 'Bearer', secretRef: { name, key: 'apiKey' } }
  const rowCount = async () => {
    const { rows } = await stack.database.pool.query(
      'select (select count(*) from requests) + (select count(*) from balance_ledger) as count',
    )
    return rows[0].count
  }
  const before = await rowCount()
  await applyProvider(name, { baseURL: upstream.url, auth, healthCheck: { type: 'ListModels' } })
  expect(await until('modelprovider', name, { Healthy: 'False/CredentialRefused' })).toContain(
    '1 of 2 gateways',
  )
  await applyCredential(name, 'sk-right')
  await until('modelprovider', name, { Healthy: 'True/Healthy', Ready: 'True/Ready' })
  const paths = upstream.requests.map(({ path, headers }) => `${path} ${headers.authorization}`)
  expect(paths).toEqual(['/v1/models Bearer sk-wrong', '/v1/models Bearer sk-right'])
  expect(await rowCount()).toBe(before)

  await applyProvider(name, { baseURL: upstream.url, auth, healthCheck: { type: 'None' } })
  await until('modelprovider', name, { Healthy: 'Unknown/NotTried' })
  expect(upstream.requests).toHaveLength(2)
})

test('a rejection without any credential advises what to set', async () => {
  const name = unique('p')
  const upstream = await startStrictProvider(name, 'sk-right')
  await applyProvider(name, { baseURL: upstream.url, healthCheck: { type: 'ListModels' } })
  expect(await until('modelprovider', name, { Healthy: 'False/CredentialRefused' })).toContain(
    'It requires a credential: set spec.auth',
  )
  await applyCredential(name, 'sk-right')
  const auth = { type: 'Bearer', secretRef: { name, key: 'apiKey' } }
  await applyProvider(name, { baseURL: upstream.url, auth, healthCheck: { type: 'ListModels' } })
  await until('modelprovider', name, { Healthy: 'True/Healthy' })
})
