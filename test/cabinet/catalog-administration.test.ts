import { randomBytes, randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { readCatalogRevision } from '#core/catalog/catalog-store'
import { createModel, createProvider } from '../support/catalog.ts'
import { databaseOfThisFile } from '../support/postgres.ts'
import { signedInAdministrator } from '../support/signed-in.ts'
import { administrationOfThisFile } from '../support/web.ts'

const database = await databaseOfThisFile()
const { pool } = database
const administration = await administrationOfThisFile(database)
const { cookie } = await signedInAdministrator(pool)
const english = { 'accept-language': 'en' }

const read = (path: string) => administration.call('GET', path, { cookie, headers: english })
const modelPath = (model: string) => `/admin/models/${encodeURIComponent(model)}`
const aName = () => randomBytes(6).toString('hex')

async function newModel(fields: Parameters<typeof createModel>[3] = {}) {
  const [provider, model] = [`p-${aName()}`, `shop/${aName()}`]
  await createProvider(pool, { name: provider, baseUrl: 'http://127.0.0.1:1' })
  await createModel(pool, model, provider, fields)
  return { provider, model }
}

/** As the operator records it. */
async function giveToCluster(kind: 'ModelRoute' | 'ModelProvider', subject: string) {
  const name = aName()
  await pool.query(
    `insert into cluster_resources (cluster_id, kind, namespace, name, uid, generation, subject, revision)
     values ('c1', $1, 'team', $2, 'u', 1, $3, 1)`,
    [kind, name, subject],
  )
  return { cluster: 'c1', namespace: 'team', name }
}

async function gatewayReports(unhealthy: object, answering: readonly string[], behind = 0n) {
  const revision = (await readCatalogRevision(pool)) - behind
  await pool.query(
    'insert into gateway_replicas (id, revision, unhealthy, answering) values ($1, $2, $3, $4)',
    [randomUUID(), revision, JSON.stringify(unhealthy), JSON.stringify(answering)],
  )
}

test('a model is shown with its price, the next one, its owner and what gateways report about its backends', async () => {
  const { provider, model } = await newModel({ inputNano: 15_500n })
  const kubernetes = await giveToCluster('ModelRoute', model)
  await pool.query(
    `insert into model_prices (id, model, scheduled, valid_from, input, output, per_request)
     values ($1, $2, true, now() + interval '2 days', 20000, 30000, 0)`,
    [randomUUID(), model],
  )
  await gatewayReports({ [`${provider} ${model}`]: 'timeout' }, [])
  const { body } = await read(`/admin/models?name=${model}`)
  expect(body.next_cursor).toBeNull()
  expect(body.data).toEqual([
    expect.objectContaining({
      model,
      free: false,
      pricing: expect.objectContaining({ input: '15.5', output: '30' }),
      next_pricing: expect.objectContaining({ input: '20' }),
      next_pricing_from: expect.any(String),
      kubernetes,
      backends: [expect.objectContaining({ provider, provider_exists: true, troubles: ['timeout'] })],
    }),
  ])
  const found = await read(modelPath(model))
  expect(found.headers.get('etag')).toMatch(/^".+"$/)
  expect(found.body.spec).toMatchObject({
    model,
    backends: [{ providerRef: { name: provider } }],
    pricingRubPerMillionTokens: { input: '15.500', output: '30.000' },
  })
})

test('lists go on after their last name, and only to what contains the text', async () => {
  const [one, other] = [await newModel(), await newModel()]
  const names = [one.model, other.model].toSorted()
  const first = await read('/admin/models?name=shop/&limit=1')
  expect(first.body.data).toHaveLength(1)
  const rest = await read(`/admin/models?name=shop/&cursor=${first.body.next_cursor}`)
  const listed = [...first.body.data, ...rest.body.data].map(({ model }) => model)
  expect(listed.filter((model) => names.includes(model))).toEqual(names)
  expect(listed).toEqual(listed.toSorted())
  expect((await read(`/admin/providers?name=${one.provider}`)).body.data).toHaveLength(1)
})

test('a provider is shown with its health and its models, and its credential never is', async () => {
  const { provider, model } = await newModel()
  const sealed = `sealed-${randomUUID()}`
  await createProvider(pool, {
    name: provider,
    baseUrl: 'https://llm.example/v1',
    auth: { type: 'Header', header: 'x-key', sealed },
  })
  await gatewayReports({}, [provider])
  const found = await read(`/admin/providers/${provider}`)
  expect(found.body).toMatchObject({
    name: provider,
    base_url: 'https://llm.example/v1',
    has_credential: true,
    kubernetes: null,
    troubles: [],
    answering_count: 1,
    model_count: 1,
    models: [model],
    spec: { api: 'OpenAI', auth: { type: 'Header', headerName: 'x-key' } },
  })
  expect(JSON.stringify([found.body, (await read('/admin/providers?limit=200')).body])).not.toContain(sealed)
})

test('the state of the catalog names each gateway and the revision that it serves', async () => {
  await newModel()
  await pool.query('delete from gateway_replicas')
  await gatewayReports({}, [])
  await gatewayReports({}, [], 1n)
  const { body } = await read('/admin/catalog-state')
  expect(body.revision).toBe(String(await readCatalogRevision(pool)))
  expect(body.gateways.map(({ is_current }: { is_current: boolean }) => is_current).toSorted()).toEqual([
    false,
    true,
  ])
})

test.each(['/admin/models/no%2Fsuch', '/admin/providers/none', '/admin/models/%EF%BF%BF', '/admin/models/x'])(
  '%s is not found',
  async (path) => {
    expect((await read(path)).status).toBe(404)
  },
)
