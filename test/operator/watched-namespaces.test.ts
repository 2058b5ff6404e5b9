import { readFileSync } from 'node:fs'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { catalogClusterOfThisFile, unique } from '../support/catalog-cluster.ts'
import type { ClusterUser } from '../support/cluster.ts'
import { operatorsOfThisFile } from '../support/operator.ts'
import { patient } from '../support/patient-gateway.ts'
import type { Process } from '../support/processes.ts'
import { post, untilServed } from '../support/stack.ts'

// An operator that was started again to look after fewer namespaces.
const operators = operatorsOfThisFile()
const catalog = await catalogClusterOfThisFile()
const { cluster, stack, namespace, apply, applyProvider, applyRoute, letOffer, remove, waitReady, until } =
  catalog
let gateway: Process
let key: string
let organization: string

beforeAll(async () => {
  await stack.startWorker()
  gateway = await stack.startGateway(patient)
  const customer = await stack.createCustomer()
  key = customer.key
  const { rows } = await stack.database.pool.query('select name from organizations where id = $1', [
    customer.organizationId,
  ])
  organization = rows[0].name
})

/** It ends with its test at the latest: one that went on would lead, and its namespaces would be those of the next test. */
async function startOperator(
  env: Readonly<Record<string, string>>,
  user: ClusterUser = cluster,
): Promise<Process> {
  const operator = await operators.start({ cluster, databaseUrl: stack.database.url, namespace, user }, env)
  onTestFinished(() => operator.stop())
  return operator
}

async function ask(model: string): Promise<number> {
  const answer = await post(gateway, key, { model, messages: [{ role: 'user', content: 'x' }] })
  await answer.text()
  return answer.status
}

test('limiting ApiKeys to a team’s namespace leaves the release’s routes served, followed, and mirrored', async () => {
  const [provider, route, later] = [unique('p'), unique('r'), unique('r')]
  const before = await startOperator({})
  await applyProvider(provider)
  const model = await applyRoute(route, provider)
  await waitReady(route)
  expect(await ask(model)).toBe(200)
  await before.stop()

  const after = await startOperator({ OPERATOR_NAMESPACES: await cluster.createNamespace() })
  await applyRoute(later, provider)
  await waitReady(later)
  expect(await ask(model)).toBe(200)
  const made = await stack.createModel()
  await untilServed(gateway, key, made)
  await vi.waitFor(async () => expect(await readyModels()).toContain(made))
  await remove('modelroute', route)
  await vi.waitFor(async () => expect(await ask(model)).toBe(404))
  await after.stop()
}, 60_000)

test('a route whose namespace is no longer used or watched reports it; a deleted one is ended', async () => {
  const { elsewhere, provider, routes } = await serveElsewhere()
  const [stays, goes] = routes
  await cluster.kubectlOk(['-n', elsewhere, 'delete', 'modelroute', goes.name])
  const after = await startOperator({ OPERATOR_NAMESPACES: await cluster.createNamespace() })
  for (const [kind, name] of [
    ['modelroute', stays.name],
    ['modelprovider', provider],
  ] as const)
    await until(kind, name, { Accepted: 'False/NamespaceNotAllowed' }, elsewhere)
  for (const { model } of routes) await vi.waitFor(async () => expect(await ask(model)).toBe(404))
  await after.stop()
}, 60_000)

test('a route that the operator may not ask for is not known to be gone, and serves on', async () => {
  const { routes } = await serveElsewhere()
  const user = await addUserLimitedTo(namespace)
  const after = await startOperator({ OPERATOR_NAMESPACES: namespace }, user)
  await vi.waitFor(async () =>
    expect(await failedLookCount(after, 'ModelRoute')).toBeGreaterThanOrEqual(routes.length),
  )
  for (const { model } of routes) expect(await ask(model)).toBe(200)
  await after.stop()
}, 60_000)

test('ApiKeys in a namespace that is looked after no longer keep their keys, and end them when they are deleted', async () => {
  const [stays, goes] = await whileAllCount(async () => [await makeKey(), await makeKey()] as const)
  const env = { OPERATOR_NAMESPACES: await cluster.createNamespace(), OPERATOR_RESYNC_MS: '2000' }
  const after = await startOperator(env)
  await cluster.kubectlOk(['-n', goes.place, 'delete', 'apikey', goes.name, '--timeout=20s'])
  await vi.waitFor(async () => expect(await keyStatus(goes.text)).toBe(401))
  expect(await keyStatus(stays.text)).toBe(200)
  await after.stop()
}, 60_000)

test('a namespace that is looked after no longer can be deleted, with its ApiKeys', async () => {
  const { place, name, text } = await whileAllCount(makeKey)
  const after = await startOperator({ OPERATOR_NAMESPACES: await cluster.createNamespace() })
  await vi.waitFor(async () => expect(await lookCount(after, 'ApiKey')).toBeGreaterThan(0))
  await cluster.kubectlOk(['delete', 'namespace', place, '--wait=false'])
  // no controller does it here
  await cluster.kubectlOk(['-n', place, 'delete', 'apikey', name, '--timeout=20s'])
  await vi.waitFor(async () => expect(await keyStatus(text)).toBe(401))
  await after.stop()
}, 60_000)

test('an ApiKey that the operator may not ask for is not known to be gone, and its key works on', async () => {
  const { place, name, text } = await whileAllCount(makeKey)
  const user = await addUserLimitedTo(namespace)
  const after = await startOperator({ OPERATOR_NAMESPACES: namespace }, user)
  await vi.waitFor(async () => expect(await failedLookCount(after, 'ApiKey')).toBeGreaterThan(0))
  expect(await keyStatus(text)).toBe(200)
  await until('apikey', name, { Ready: 'True/Programmed' }, place)
  await after.stop()
}, 60_000)

test('with Roles in its namespaces, as the README describes, the operator serves their keys and providers', async () => {
  const place = await cluster.createNamespace(organization)
  const user = await cluster.addUser(`system:serviceaccount:${namespace}:model-gateway-operator`)
  const rbac = readFileSync('operator/deploy/rbac.yaml', 'utf8')
  const ofRelease = rbac.replaceAll('namespace: model-gateway', `namespace: ${namespace}`)
  await cluster.kubectlOk(['apply', '-f', '-'], ofRelease)
  onTestFinished(
    async () => void (await cluster.kubectlOk(['delete', '--ignore-not-found', '-f', '-'], ofRelease)),
  )
  await cluster.kubectlOk(['delete', 'clusterrolebinding', 'model-gateway-operator'])
  for (const name of [namespace, place])
    await cluster.kubectlOk([
      ...['-n', name, 'create', 'rolebinding', 'model-gateway-operator-objects'],
      ...['--clusterrole=model-gateway-operator', `--serviceaccount=${namespace}:model-gateway-operator`],
    ])
  const operator = await startOperator({ OPERATOR_NAMESPACES: place }, user)
  const [name, provider, route] = [unique('k'), unique('p'), unique('r')]
  await apply({ kind: 'ApiKey', metadata: { name, namespace: place }, spec: { organization } })
  await until('apikey', name, { Ready: 'True/Programmed' }, place)
  await applyProvider(provider)
  const model = await applyRoute(route, provider)
  await waitReady(route)
  expect(await ask(model)).toBe(200)
  await operator.stop()
}, 60_000)

/** Objects made while an operator runs that watches every namespace; it is gone by then. */
async function whileAllCount<Made>(make: () => Promise<Made>): Promise<Made> {
  const operator = await startOperator({})
  const made = await make()
  await operator.stop()
  return made
}

/** An ApiKey that is Ready, in a separate namespace. */
async function makeKey() {
  const place = await cluster.createNamespace(organization)
  const name = unique('k')
  await apply({ kind: 'ApiKey', metadata: { name, namespace: place }, spec: { organization } })
  await until('apikey', name, { Ready: 'True/Programmed' }, place)
  const path = 'jsonpath={.data.OPENAI_API_KEY}'
  const data = await cluster.kubectlOk(['-n', place, 'get', 'secret', `${name}-apikey`, '-o', path])
  return { place, name, text: Buffer.from(data, 'base64').toString() }
}

/** Two routes in a namespace that counts, and an operator that has ended since. */
async function serveElsewhere() {
  const elsewhere = await cluster.createNamespace()
  await letOffer(elsewhere, 'tests/*')
  const provider = unique('p')
  const operator = await startOperator({ OPERATOR_ROUTES_NAMESPACES: `${namespace},${elsewhere}` })
  await applyProvider(provider, {}, elsewhere)
  const serve = async (name: string) => {
    const model = await applyRoute(name, provider, {}, elsewhere)
    await until('modelroute', name, { Ready: 'True/Programmed' }, elsewhere)
    return { name, model }
  }
  const routes = [await serve(unique('r')), await serve(unique('r'))] as const
  await operator.stop()
  return { elsewhere, provider, routes }
}

/** A user with all permissions in one namespace, and elsewhere only that of reading namespaces. */
async function addUserLimitedTo(place: string): Promise<ClusterUser> {
  const name = unique('limited')
  const to = [`--user=${name}`]
  await cluster.kubectlOk(['create', 'clusterrole', name, '--verb=get,list,watch', '--resource=namespaces'])
  await cluster.kubectlOk(['create', 'clusterrolebinding', name, `--clusterrole=${name}`, ...to])
  await cluster.kubectlOk(['-n', place, 'create', 'rolebinding', name, '--clusterrole=cluster-admin', ...to])
  return cluster.addUser(name)
}

/** Looks of a controller that failed. */
function failedLookCount(operator: Process, controller: string): Promise<number> {
  return countOf(operator, `reconcile_errors_total{controller="${controller}"}`)
}

/** Looks of a controller that ended well. */
function lookCount(operator: Process, controller: string): Promise<number> {
  return countOf(operator, `reconcile_total{controller="${controller}",result="success"}`)
}

async function countOf(operator: Process, series: string): Promise<number> {
  const text = await (await fetch(`${operator.adminUrl}/metrics`)).text()
  const start = `controller_runtime_${series} `
  const line = text.split('\n').find((candidate) => candidate.startsWith(start))
  return Number(line?.slice(start.length) ?? 0)
}

/** Status that the gateway answers to a key. */
async function keyStatus(text: string): Promise<number> {
  return (await fetch(`${gateway.baseUrl}/key`, { headers: { authorization: `Bearer ${text}` } })).status
}

/** Models of the release's ModelRoutes that are Ready. */
async function readyModels(): Promise<readonly string[]> {
  const path = '{range .items[?(@.status.conditions[-1:].status=="True")]}{.spec.model} {end}'
  const text = await cluster.kubectlOk(['-n', namespace, 'get', 'modelroutes', '-o', `jsonpath=${path}`])
  return text.split(' ')
}
