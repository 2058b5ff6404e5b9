import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { catalogClusterOfThisFile, unique } from '../support/catalog-cluster.ts'
import type { Process } from '../support/processes.ts'
import { post } from '../support/stack.ts'
import { startUpstream } from '../support/upstream.ts'

const catalog = await catalogClusterOfThisFile()
const { cluster, namespace, applyProvider, applyRoute, letOffer, until } = catalog
const [team, shared] = [await cluster.createNamespace(), await cluster.createNamespace()]
let gateway: Process
let key: string

beforeAll(async () => {
  ;({ gateway, key } = await catalog.serve({ OPERATOR_ROUTES_NAMESPACES: [namespace, team, shared].join() }))
})

async function ask(model: string): Promise<number> {
  const answer = await post(gateway, key, { model, messages: [{ role: 'user', content: 'x' }] })
  await answer.text()
  return answer.status
}

const untilAnswer = (model: string, status: number) =>
  vi.waitFor(async () => expect(await ask(model)).toBe(status))

/**
 * Kubernetes reports the age of an object in whole seconds: of two routes created in one second the name
 * decides.
 */
function untilNextSecond() {
  const now = Date.now()
  return vi.waitUntil(() => Math.floor(Date.now() / 1_000) > Math.floor(now / 1_000), { interval: 20 })
}

const eventsOf = (kind: string, name: string, place: string) =>
  cluster.kubectlOk(['-n', place, 'events', '--for', `${kind}/${name}`])

/** Backends of a route in `team`, the first at a provider of `shared`. */
function backendsAt(name: string, ...own: readonly string[]) {
  const others = own.map((provider, n) => ({
    name: `own-${n}`,
    providerRef: { name: provider },
    model: name,
    priority: 1,
  }))
  return [{ name: 'shared', providerRef: { name, namespace: shared }, model: name }, ...others]
}

const allow = (from: object) => ({ allowedRoutes: { namespaces: from } })
const labelled = allow({ from: 'Selector', selector: { matchLabels: { 'models.example/shared': 'yes' } } })
const setLabel = (label: string) => cluster.kubectlOk(['label', '--overwrite', 'namespace', team, label])

test('a route serves while its namespace may offer the model, as its status shows', async () => {
  const name = unique('r')
  await applyProvider(name, {}, team)
  const model = await applyRoute(name, name, {}, team)
  expect(await until('modelroute', name, { Accepted: 'False/ModelNotAllowed' }, team)).toBe(
    `Namespace ${team} may not offer model ${model}: a cluster admin can add tests/* to its annotation modelgateway.dev/may-offer`,
  )
  expect(await ask(model)).toBe(404)
  await vi.waitFor(async () => expect(await eventsOf('modelroute', name, team)).toContain('ModelNotAllowed'))
  await letOffer(team, 'other/*,tests/*')
  await until('modelroute', name, { Ready: 'True/Programmed' }, team)
  await untilAnswer(model, 200)
  await letOffer(team, 'other/*')
  await until('modelroute', name, { Accepted: 'False/ModelNotAllowed' }, team)
  await untilAnswer(model, 404)
  await letOffer(team, 'tests/*')
  await untilAnswer(model, 200)
})

test('a route that may no longer offer its model blocks no other: a younger one serves at once', async () => {
  const [first, second] = [unique('a'), unique('b')]
  await letOffer(team, 'tests/*')
  await applyProvider(first, {}, team)
  const model = await applyRoute(first, first, {}, team)
  await until('modelroute', first, { Ready: 'True/Programmed' }, team)
  await applyProvider(second)
  await untilNextSecond()
  await applyRoute(second, second, { model })
  await until('modelroute', second, { Accepted: 'False/Conflict' })
  await letOffer(team, 'other/*')
  await until('modelroute', second, { Ready: 'True/Programmed' })
  await until('modelroute', first, { Accepted: 'False/ModelNotAllowed' }, team)
  expect(await ask(model)).toBe(200)
})

test('the namespace of the release offers every model, unless it has the annotation, too', async () => {
  const name = unique('r')
  await applyProvider(name)
  const model = await applyRoute(name, name)
  await until('modelroute', name, { Ready: 'True/Programmed' })
  await letOffer(namespace, 'other/*')
  onTestFinished(async () => {
    await cluster.kubectlOk(['annotate', 'namespace', namespace, 'modelgateway.dev/may-offer-'])
  })
  await until('modelroute', name, { Accepted: 'False/ModelNotAllowed' })
  await untilAnswer(model, 404)
})

test('a provider serves routes of another namespace only while it allows them; its existence is not revealed', async () => {
  const name = unique('p')
  await letOffer(team, 'tests/*')
  const model = await applyRoute(name, '', { backends: backendsAt(name) }, team)
  const refusal = `ModelProvider "${shared}/${name}" does not exist, or its spec.allowedRoutes does not allow routes of namespace ${team}`
  expect(await until('modelroute', name, { ResolvedRefs: 'False/ProviderNotAllowed' }, team)).toBe(refusal)
  await applyProvider(name, {}, shared)
  await until('modelprovider', name, { Ready: 'True/Ready' }, shared)
  expect(await until('modelroute', name, { ResolvedRefs: 'False/ProviderNotAllowed' }, team)).toBe(refusal)
  expect(await ask(model)).toBe(404)

  await applyProvider(name, allow({ from: 'All' }), shared)
  await until('modelroute', name, { Ready: 'True/Programmed' }, team)
  await untilAnswer(model, 200)
  await applyProvider(name, labelled, shared)
  await until('modelroute', name, { ResolvedRefs: 'False/ProviderNotAllowed' }, team)
  await untilAnswer(model, 404)
  await setLabel('models.example/shared=yes')
  await until('modelroute', name, { Ready: 'True/Programmed' }, team)
  await untilAnswer(model, 200)
  await setLabel('models.example/shared=no')
  await untilAnswer(model, 404)
})

test('of a route with two providers only the allowed one is called, and no drift is reported', async () => {
  const upstream = await startUpstream()
  onTestFinished(upstream.stop)
  const name = unique('p')
  await letOffer(team, 'tests/*')
  await applyProvider(name, { baseURL: upstream.url, ...allow({ from: 'All' }) }, shared)
  await applyProvider(name, {}, team)
  const model = await applyRoute(name, '', { backends: backendsAt(name, name) }, team)
  await until('modelroute', name, { Ready: 'True/Programmed' }, team)
  await untilAnswer(model, 200)
  expect(upstream.requestsFor(name)).toHaveLength(1)
  await applyProvider(name, { baseURL: upstream.url, ...allow({ from: 'Same' }) }, shared)
  await until('modelroute', name, { Ready: 'False/ProviderNotAllowed', Programmed: 'True/Programmed' }, team)
  const asked = upstream.requestsFor(name).length
  expect(await ask(model)).toBe(200)
  expect(upstream.requestsFor(name)).toHaveLength(asked)
  await applyProvider(name, { baseURL: upstream.url, ...allow({ from: 'All' }) }, shared)
  await until('modelroute', name, { Ready: 'True/Programmed' }, team)
  expect(await eventsOf('modelroute', name, team)).not.toContain('DriftCorrected')
})

test('a mistake keeps what was stored, but not what is not allowed any more', async () => {
  const name = unique('p')
  await letOffer(team, 'tests/*')
  await applyProvider(name, allow({ from: 'All' }), shared)
  await applyProvider(name, {}, team)
  const model = await applyRoute(name, '', { backends: backendsAt(name) }, team)
  await until('modelroute', name, { Ready: 'True/Programmed' }, team)
  await untilAnswer(model, 200)
  const access = { scope: 'Organizations', organizations: ['nobody-has-this'] }
  await applyRoute(name, name, { model, access }, team) // and with its own provider
  await until('modelroute', name, { Accepted: 'False/OrganizationNotFound' }, team)
  expect(await ask(model)).toBe(200)
  await applyProvider(name, allow({ from: 'Same' }), shared)
  await untilAnswer(model, 404)
})
