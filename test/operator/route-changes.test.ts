import { beforeAll, expect, test, vi } from 'vitest'
import type { Condition } from '#operator/runtime/conditions'
import { apiVersion, catalogClusterOfThisFile, unique } from '../support/catalog-cluster.ts'
import { operatorsOfThisFile } from '../support/operator.ts'
import { patient } from '../support/patient-gateway.ts'
import type { Process } from '../support/processes.ts'
import { post } from '../support/stack.ts'
import { startUpstream } from '../support/upstream.ts'

const operators = operatorsOfThisFile()
const catalog = await catalogClusterOfThisFile()
const { cluster, stack, namespace, apply, applyProvider, applyRoute, letOffer, remove, waitReady, until } =
  catalog
const elsewhere = await cluster.createNamespace()
let worker: Process
let gateway: Process
let operator: Process
let key: string

beforeAll(async () => {
  await letOffer(elsewhere, '*')
  worker = await stack.startWorker()
  gateway = await stack.startGateway(patient)
  key = (await stack.createCustomer()).key
  operator = await operators.start(
    { cluster, databaseUrl: stack.database.url, namespace },
    { OPERATOR_ROUTES_NAMESPACES: `${namespace},${elsewhere}`, OPERATOR_SECRET_POLL_MS: '500' },
  )
})

async function ask(model: string): Promise<number> {
  const answer = await post(gateway, key, { model, messages: [{ role: 'user', content: 'x' }] })
  await answer.text()
  return answer.status
}

// The first one: what others leave to be looked at again would count here.
test('what has not changed is not looked at again, however often its Secret is read', async () => {
  const [secret, provider, name] = [unique('s'), unique('p'), unique('r')]
  await apply({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: secret, namespace, labels: { 'modelgateway.dev/provider-credential': 'true' } },
    stringData: { apiKey: 'sk-test' },
  })
  await applyProvider(provider, { auth: { type: 'Bearer', secretRef: { name: secret, key: 'apiKey' } } })
  await applyRoute(name, provider)
  await waitReady(name)
  const settled = await vi.waitFor(async () => {
    const before = await readLooks()
    await untilRequestsBy(4)
    expect(await readLooks()).toEqual(before)
    return before
  })
  expect(Object.keys(settled)).toContainEqual(expect.stringContaining('ModelRoute'))
  await untilRequestsBy(12)
  expect(await readLooks()).toEqual(settled)
})

/** Looks that the operator has taken at routes and providers, by series. */
async function readLooks(): Promise<Readonly<Record<string, number>>> {
  return readCounts(/^controller_runtime_reconcile_total\{controller="Model(?:Route|Provider)".*$/gm)
}

/** Waits until the operator has gone on for so many requests to the API server: idle, these are for Secrets and its Lease. */
async function untilRequestsBy(count: number): Promise<void> {
  const read = async () =>
    Object.values(await readCounts(/^rest_client_requests_total\{.*method="(?:GET|PATCH|PUT)".*$/gm)).reduce(
      (a, b) => a + b,
      0,
    )
  const before = await read()
  await vi.waitFor(async () => expect(await read()).toBeGreaterThanOrEqual(before + count), { interval: 100 })
}

async function readCounts(series: RegExp): Promise<Readonly<Record<string, number>>> {
  const text = await (await fetch(`${operator.adminUrl}/metrics`)).text()
  const lines = text.match(series) ?? []
  return Object.fromEntries(lines.map((line) => [line.replace(/ \S+$/, ''), Number(line.split(' ').at(-1))]))
}

test('a route whose provider was created again is not Programmed before the gateways know that provider, too', async () => {
  const provider = unique('p')
  const name = unique('r')
  await applyProvider(provider)
  await applyRoute(name, provider)
  await waitReady(name)
  await remove('modelprovider', provider)
  await until('modelroute', name, { ResolvedRefs: 'False/ProviderNotFound' })
  worker.freeze()
  try {
    await applyProvider(provider)
    await until('modelroute', name, { ResolvedRefs: 'True/ResolvedRefs' })
    await until('modelroute', name, { Programmed: 'False/GatewaysPending' })
  } finally {
    worker.thaw()
  }
  await waitReady(name)
  expect(await ask(`tests/${name}`)).toBe(200)
})

test('a model passes to a ModelRoute of another namespace with its price, and that one’s provider of the same name', async () => {
  const theirs = await startUpstream()
  const [provider, name] = [unique('p'), unique('r')]
  await applyProvider(provider)
  await applyProvider(provider, { baseURL: theirs.url }, elsewhere)
  const priced = (input: string) => ({
    free: false,
    pricingRubPerMillionTokens: { input, output: '0' },
  })
  const model = await applyRoute(name, provider, priced('1000'))
  const madeAtS = Math.floor(Date.now() / 1000)
  await waitReady(name)
  // Ages are in whole seconds, and of two with the same age the names decide.
  await vi.waitFor(() => expect(Math.floor(Date.now() / 1000)).toBeGreaterThan(madeAtS))
  await applyRoute(name, provider, priced('2000'), elsewhere)
  const conflict = await until('modelroute', name, { Accepted: 'False/Conflict' }, elsewhere)
  expect(conflict).toBe(`Model ${model} is already served by the older ModelRoute ${namespace}/${name}`)
  const costOf = async () => {
    const answer = await post(gateway, key, { model, messages: [{ role: 'user', content: 'x' }] })
    return answer.headers.get('x-gateway-cost-rub')
  }
  expect([await costOf(), theirs.requests.length]).toEqual(['0.01', 0]) // of 10 tokens
  await remove('modelroute', name)
  await until('modelroute', name, { Ready: 'True/Programmed' }, elsewhere)
  expect([await costOf(), theirs.requests.length]).toEqual(['0.02', 1])
  await theirs.stop()
})

test('a ModelRoute may take over the model of another one without a single request failing', async () => {
  const provider = unique('p')
  const [old, renamed] = [unique('old'), unique('renamed')]
  await applyProvider(provider)
  await applyRoute(old, provider)
  await waitReady(old)
  await applyRoute(renamed, provider, { model: `tests/${old}` })
  await until('modelroute', renamed, { Accepted: 'False/Conflict' })
  const row = () =>
    stack.database.pool.query('select created_at from model_routes where model = $1', [`tests/${old}`])
  const { rows: before } = await row()
  const statuses = new Set<number>()
  const isOver = new AbortController()
  const asking = (async () => {
    while (!isOver.signal.aborted) statuses.add(await ask(`tests/${old}`))
  })()
  await remove('modelroute', old)
  await waitReady(renamed)
  isOver.abort()
  await asking
  expect([...statuses]).toEqual([200])
  expect((await row()).rows).toEqual(before) // it was there all the time
  await remove('modelroute', renamed)
  await vi.waitFor(async () => expect(await ask(`tests/${old}`)).toBe(404))
})

test('a route reports unserved fallbacks and cycles of fallbacks, and is Ready nevertheless', async () => {
  const provider = unique('p')
  const [first, second] = [unique('a'), unique('b')]
  await applyProvider(provider)
  await applyRoute(first, provider, { fallbacks: [`tests/${second}`] })
  await waitReady(first)
  expect(await until('modelroute', first, { ResolvedRefs: 'True/ResolvedRefs' })).toBe(
    `Fallbacks that no route serves: tests/${second}`,
  )
  await applyRoute(second, provider, { fallbacks: [`tests/${first}`] })
  await waitReady(second)
  const round = `Fallbacks form a loop, which is harmless: tests/${first} → tests/${second} → tests/${first}`
  await vi.waitFor(async () =>
    expect(await until('modelroute', first, { ResolvedRefs: 'True/ResolvedRefs' })).toBe(round),
  )
  await remove('modelroute', second)
  await vi.waitFor(async () =>
    expect(await until('modelroute', first, { ResolvedRefs: 'True/ResolvedRefs' })).toBe(
      `Fallbacks that no route serves: tests/${second}`,
    ),
  )
})

test('each route of a cycle of fallbacks reports it, in any order, also when one is of the cabinet, until it is broken', async () => {
  const provider = unique('p')
  const names = [unique('a'), unique('b'), unique('c')] as const
  const models = names.map((name) => `tests/${name}`)
  await applyProvider(provider)
  const saying = (name: string) => until('modelroute', name, { ResolvedRefs: 'True/ResolvedRefs' })
  for (const [place, name] of names.entries())
    await applyRoute(name, provider, { fallbacks: [models[(place + 1) % 3] ?? ''] })
  for (const [place, name] of names.entries()) {
    const round = [0, 1, 2, 3].map((step) => models[(place + step) % 3])
    await vi.waitFor(async () =>
      expect(await saying(name)).toBe(`Fallbacks form a loop, which is harmless: ${round.join(' → ')}`),
    )
  }
  await applyRoute(names[2], provider, { fallbacks: [] })
  for (const name of names) await vi.waitFor(async () => expect(await saying(name)).toBe(''))
  const ofCabinet = await stack.createModel({ fallbacks: [models[0] ?? ''] })
  await applyRoute(names[2], provider, { fallbacks: [ofCabinet] })
  for (const name of names) await vi.waitFor(async () => expect(await saying(name)).toContain(ofCabinet))
})

test('a fallback of another type is reported from its beginning to its end', async () => {
  const provider = unique('p')
  const [first, second] = [unique('a'), unique('b')]
  await applyProvider(provider)
  await applyRoute(second, provider)
  await applyRoute(first, provider, { fallbacks: [`tests/${second}`] })
  const saying = (text: string) =>
    vi.waitFor(async () =>
      expect(await until('modelroute', first, { ResolvedRefs: 'True/ResolvedRefs' })).toBe(text),
    )
  await saying('')
  await applyRoute(second, provider, { type: 'embedding' })
  await saying(`Fallbacks of another type than this route, which are never tried: tests/${second}`)
  await applyRoute(second, provider, { type: 'chat' })
  await saying('')
})

test('a name that is too long for the catalog is not Accepted: gateways would leave it out', async () => {
  const long = `${unique('p')}${'x'.repeat(240)}`
  await applyProvider(long, {}, elsewhere)
  expect(await until('modelprovider', long, { Accepted: 'False/InvalidSpec' }, elsewhere)).toContain('253')
})

test('a status that another writer changes is corrected', async () => {
  const provider = unique('p')
  await applyProvider(provider)
  await until('modelprovider', provider, { Ready: 'True/Ready' })
  const path = `/apis/${apiVersion}/namespaces/${namespace}/modelproviders/${provider}`
  const { body } = await cluster.request('GET', path)
  const object = body as { status: { conditions: readonly Condition[] } }
  const conditions = object.status.conditions.map((condition) => ({ ...condition, status: 'False' }))
  await cluster.request('PUT', `${path}/status`, { ...object, status: { ...object.status, conditions } })
  await until('modelprovider', provider, { Ready: 'True/Ready' })
})
