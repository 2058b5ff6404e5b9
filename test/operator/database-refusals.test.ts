import { beforeAll, expect, test } from 'vitest'
import { catalogClusterOfThisFile, unique } from '../support/catalog-cluster.ts'
import { operatorsOfThisFile } from '../support/operator.ts'
import { patient } from '../support/patient-gateway.ts'
import type { Process } from '../support/processes.ts'
import { post } from '../support/stack.ts'

// Objects that the API server has taken and the database will not.
const operators = operatorsOfThisFile()
const catalog = await catalogClusterOfThisFile()
const { cluster, stack, namespace, apply, applyProvider, applyRoute, waitReady, sayings, until } = catalog
const refused = 'False/DatabaseRefused'
const pending = 'Unknown/Pending'
let gateway: Process
let key: string
let organization: string
let teamNamespace: string

beforeAll(async () => {
  const { pool } = stack.database
  for (const [table, forbidden] of [
    ['api_keys', "name = 'forbidden'"],
    ['model_providers', "name = 'forbidden'"],
    ['model_routes', "document ->> 'description' = 'forbidden'"],
  ])
    await pool.query(`alter table ${table} add constraint of_this_test check ((${forbidden}) is not true)`)
  await stack.startWorker()
  gateway = await stack.startGateway(patient)
  const customer = await stack.createCustomer()
  key = customer.key
  const { rows } = await pool.query('select name from organizations where id = $1', [customer.organizationId])
  organization = rows[0].name
  teamNamespace = await cluster.createNamespace(organization)
  await operators.start({ cluster, databaseUrl: stack.database.url, namespace })
})

function applyKey(name: string, displayName: string): Promise<void> {
  const metadata = { name, namespace: teamNamespace }
  return apply({ kind: 'ApiKey', metadata, spec: { organization, displayName } })
}

test('an ApiKey that the database rejects reports it on its first visit, with everything else known', async () => {
  const name = unique('k')
  await applyKey(name, 'forbidden')
  expect(await until('apikey', name, { Accepted: refused }, teamNamespace)).toContain('of_this_test')
  expect(await sayings('apikey', name, teamNamespace)).toEqual({
    Accepted: refused,
    SecretReady: pending,
    Programmed: pending,
    DatabaseReachable: 'True/Connected',
    Ready: refused,
  })
  await applyKey(name, 'allowed')
  await until('apikey', name, { Ready: 'True/Programmed', Accepted: 'True/Accepted' }, teamNamespace)
  await applyKey(name, 'forbidden')
  await until(
    'apikey',
    name,
    { Ready: refused, Accepted: refused, SecretReady: 'True/Synced', Programmed: 'True/Programmed' },
    teamNamespace,
  )
})

test('a ModelProvider that the database rejects reports it on its first visit', async () => {
  await applyProvider('forbidden')
  expect(await until('modelprovider', 'forbidden', { Accepted: refused })).toContain('of_this_test')
  expect(await sayings('modelprovider', 'forbidden')).toEqual({
    Accepted: refused,
    ResolvedRefs: pending,
    Healthy: pending,
    Ready: refused,
  })
})

test('a ModelRoute that the database rejects reports it on its first visit; a rejected change leaves the served route', async () => {
  const [provider, name] = [unique('p'), unique('r')]
  await applyProvider(provider)
  const model = await applyRoute(name, provider, { description: 'forbidden' })
  expect(await until('modelroute', name, { Accepted: refused })).toContain('of_this_test')
  expect(await sayings('modelroute', name)).toEqual({
    Accepted: refused,
    ResolvedRefs: pending,
    BackendsHealthy: pending,
    Programmed: pending,
    Ready: refused,
  })
  await applyRoute(name, provider, { description: 'allowed' })
  await waitReady(name)
  await applyRoute(name, provider, { description: 'forbidden' })
  await until('modelroute', name, { Accepted: refused, Ready: refused, Programmed: 'True/Programmed' })
  const messages = [{ role: 'user', content: 'x' }]
  expect((await post(gateway, key, { model, messages })).status).toBe(200)
})

test('a text that Postgres cannot hold, where CEL does not see it, is named', async () => {
  const name = unique('r')
  await applyRoute(name, 'none', { parameters: { defaults: { user: 'a\0b' } } })
  expect(await until('modelroute', name, { Accepted: 'False/InvalidSpec', Ready: 'False/InvalidSpec' })).toBe(
    'spec.parameters.defaults: must not contain U+0000 or an unpaired surrogate: the database cannot store them',
  )
})

test('defaults nested too deep to be read are named', async () => {
  const name = unique('r')
  await applyRoute(name, 'none', {
    parameters: { defaults: { user: JSON.parse('['.repeat(500) + ']'.repeat(500)) } },
  })
  expect(await until('modelroute', name, { Accepted: 'False/InvalidSpec', Ready: 'False/InvalidSpec' })).toBe(
    'spec.parameters.defaults.user: must not be nested more than 64 levels deep',
  )
})
