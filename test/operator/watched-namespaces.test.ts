import { beforeAll, expect, test, vi } from 'vitest'
import { catalogueClusterOfThisFile, unique } from '../support/catalogue-cluster.ts'
import type { ClusterUser } from '../support/cluster.ts'
import { operatorsOfThisFile } from '../support/operator.ts'
import type { Process } from '../support/processes.ts'
import { post, untilServed } from '../support/stack.ts'

// An operator that was started anew to look after fewer namespaces.
const operators = operatorsOfThisFile()
const catalogue = await catalogueClusterOfThisFile()
const { cluster, stack, namespace, applyProvider, applyRoute, remove, waitReady, until } = catalogue
let gateway: Process
let key: string

beforeAll(async () => {
  await stack.startWorker()
  gateway = await stack.startGateway()
  key = (await stack.createCustomer()).key
})

function startOperator(env: Readonly<Record<string, string>>, user: ClusterUser = cluster): Promise<Process> {
  return operators.start({ cluster, databaseUrl: stack.database.url, namespace, user }, env)
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

test('a route whose namespace neither counts nor is watched any more is told so; one that is gone is ended', async () => {
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
  await vi.waitFor(async () => expect(await failedLookCount(after)).toBeGreaterThanOrEqual(routes.length))
  for (const { model } of routes) expect(await ask(model)).toBe(200)
  await after.stop()
}, 60_000)

/** Two routes in a namespace that counts, and an operator that has ended since. */
async function serveElsewhere() {
  const elsewhere = await cluster.createNamespace()
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

/** Somebody with every right in one namespace, and elsewhere that of reading namespaces. */
async function addUserLimitedTo(place: string): Promise<ClusterUser> {
  const name = unique('limited')
  const to = [`--user=${name}`]
  await cluster.kubectlOk(['create', 'clusterrole', name, '--verb=get,list,watch', '--resource=namespaces'])
  await cluster.kubectlOk(['create', 'clusterrolebinding', name, `--clusterrole=${name}`, ...to])
  await cluster.kubectlOk(['-n', place, 'create', 'rolebinding', name, '--clusterrole=cluster-admin', ...to])
  return cluster.addUser(name)
}

/** Looks at ModelRoutes that failed. */
async function failedLookCount(operator: Process): Promise<number> {
  const text = await (await fetch(`${operator.adminUrl}/metrics`)).text()
  return Number(/reconcile_errors_total\{controller="ModelRoute"\} (\d+)/.exec(text)?.[1] ?? 0)
}

/** Models of the release's ModelRoutes that are Ready. */
async function readyModels(): Promise<readonly string[]> {
  const path = '{range .items[?(@.status.conditions[-1:].status=="True")]}{.spec.model} {end}'
  const text = await cluster.kubectlOk(['-n', namespace, 'get', 'modelroutes', '-o', `jsonpath=${path}`])
  return text.split(' ')
}
