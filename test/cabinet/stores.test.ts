import { randomUUID } from 'node:crypto'
import { Client } from 'pg'
import { expect, test, vi } from 'vitest'
import { type ProviderDocument, routeDocumentSchema } from '#core/catalog/catalog-document'
import {
  putPrice,
  putProvider,
  putRoute,
  readCatalog,
  readCatalogRevision,
  removeProvider,
  removeRoute,
  type StoredRoute,
} from '#core/catalog/catalog-store'
import { findKey, hashKey } from '#core/keys/key'
import {
  blockKey,
  createKey,
  insertKey,
  restoreSecret,
  revokeKey,
  rotateKey,
  setLimits,
  unblockKey,
} from '#core/keys/key-store'
import { nanoRub } from '#core/ledger/money'
import { createOrganization, findOrganization } from '#core/organizations/organization-store'
import { shardOf } from '#core/redis/shard'
import { storedRoute } from '../support/catalog.ts'
import { createCustomer, pepper } from '../support/customer.ts'
import { createDatabase, databaseOfThisFile } from '../support/postgres.ts'
import { inTestScope } from '../support/scope.ts'

const { pool, url } = await databaseOfThisFile()
const uniqueName = () => `org-${randomUUID()}`

async function keyRow(keyId: string) {
  const { rows } = await pool.query('select * from api_keys where id = $1', [keyId])
  return rows[0]
}

async function secretsOf(keyId: string) {
  const { rows } = await pool.query<{
    hash: string
    prefix: string
    suffix: string
    valid_until: Date | null
    revoked_at: Date | null
  }>('select * from api_key_credentials where key_id = $1 order by created_at', [keyId])
  return rows
}

test('an organization of one name is made once, with an empty account, in the shard of its id', async () => {
  const name = uniqueName()
  const made = await Promise.all(
    Array.from({ length: 8 }, () => inTestScope(pool, (client) => createOrganization(client, name))),
  )
  expect(new Set(made.map(({ id }) => id)).size).toBe(1)
  expect(made.filter(({ created }) => created)).toHaveLength(1)
  const found = await findOrganization(pool, name)
  if (found === undefined) throw new Error('not found')
  expect(found.shard).toBe(shardOf(found.id))
  const { rows } = await pool.query('select balance, version from org_account where organization_id = $1', [
    found.id,
  ])
  expect(rows).toEqual([{ balance: 0n, version: 0n }])
  expect(await findOrganization(pool, uniqueName())).toBeUndefined()
})

test.each(['', 'Upper', '-edge', 'edge-', 'a.b', 'a'.repeat(64)])(
  'no organization is called %j',
  async (name) => {
    await expect(inTestScope(pool, (client) => createOrganization(client, name))).rejects.toMatchObject({
      code: '23514',
    })
  },
)

test('a key’s text is of its organization’s shard, and only its hash and visible parts are stored', async () => {
  const { organizationId, keyId, key } = await createCustomer(pool)
  const found = findKey(key, pepper)
  if (found === undefined) throw new Error('not a key')
  expect(found.shard).toBe(shardOf(organizationId))
  const [secret] = await secretsOf(keyId)
  expect(secret).toMatchObject({
    hash: hashKey(found.key, pepper),
    prefix: key.slice(0, 15),
    suffix: key.slice(-4),
  })
  const { rows } = await pool.query<{ all: string }>(
    'select (k::text || c::text) as all from api_keys k join api_key_credentials c on c.key_id = k.id where k.id = $1',
    [keyId],
  )
  expect(rows[0]?.all).not.toContain(key.slice(15, -4))
})

test('a key of an unknown organization is not made', async () => {
  const key = { organizationId: randomUUID(), name: 'x', managedBy: 'cabinet' } as const
  await expect(inTestScope(pool, (client) => createKey(client, key, pepper))).rejects.toMatchObject({
    code: '23503',
  })
})

test('a rotation with grace lets the old text live on; without, it is dead at once; the key stays', async () => {
  const { keyId, key } = await createCustomer(pool)
  const { secret: second } = await inTestScope(pool, (client) => rotateKey(client, keyId, 3_600, pepper))
  expect(second).not.toBe(key)
  expect(await secretsOf(keyId)).toMatchObject([
    { valid_until: expect.any(Date), revoked_at: null },
    { valid_until: null, revoked_at: null },
  ])
  await inTestScope(pool, (client) => rotateKey(client, keyId, 0, pepper))
  expect(await secretsOf(keyId)).toMatchObject([
    { revoked_at: expect.any(Date) },
    { revoked_at: expect.any(Date) },
    { valid_until: null, revoked_at: null },
  ])
})

test('a text restored twice for one key is there once, and opens no other key', async () => {
  const customer = await createCustomer(pool)
  const found = findKey(customer.key, pepper)
  if (found === undefined) throw new Error('not a key')
  expect(await inTestScope(pool, (client) => restoreSecret(client, customer.keyId, found.key, pepper))).toBe(
    'restored',
  )
  expect(await secretsOf(customer.keyId)).toHaveLength(1)
  const other = await inTestScope(pool, (client) =>
    insertKey(client, { ...customer, name: 'other', managedBy: 'kubernetes' }),
  )
  expect(await inTestScope(pool, (client) => restoreSecret(client, other, found.key, pepper))).toBe('taken')
  expect(await secretsOf(other)).toEqual([])
})

test('each blocker lifts its own block only', async () => {
  const { keyId } = await createCustomer(pool)
  for (const by of ['owner', 'admin', 'kubernetes'] as const)
    await inTestScope(pool, (client) => blockKey(client, keyId, by))
  await inTestScope(pool, (client) => unblockKey(client, keyId, 'admin'))
  expect(await keyRow(keyId)).toMatchObject({
    owner_blocked_at: expect.any(Date),
    admin_blocked_at: null,
    kubernetes_blocked_at: expect.any(Date),
  })
})

test('a revoked key keeps its row and loses all its texts', async () => {
  const { keyId } = await createCustomer(pool)
  await inTestScope(pool, (client) => rotateKey(client, keyId, 60, pepper))
  await inTestScope(pool, (client) => revokeKey(client, keyId))
  expect(await keyRow(keyId)).toMatchObject({ revoked_at: expect.any(Date) })
  for (const { revoked_at } of await secretsOf(keyId)) expect(revoked_at).not.toBeNull()
  await expect(pool.query('delete from api_keys where id = $1', [keyId])).rejects.toMatchObject({
    code: '23001',
  })
})

test('limits that are what they were make no new version', async () => {
  const { keyId } = await createCustomer(pool)
  const limits = {
    rpm: 5,
    tpm: 100,
    dailyBudgetNano: nanoRub(7n),
    allowedModels: ['a/*'],
    allowedIps: ['10.0.0.0/8', '::1'],
    readBalance: true,
    keepsResponsesHours: 720,
  }
  await inTestScope(pool, (client) => setLimits(client, keyId, limits))
  await inTestScope(pool, (client) => setLimits(client, keyId, limits))
  expect(await keyRow(keyId)).toMatchObject({
    rpm: 5,
    tpm: 100,
    daily_budget_nano: 7n,
    allowed_models: ['a/*'],
    allowed_ips: ['10.0.0.0/8', '::1'],
    read_balance: true,
    keeps_responses_hours: 720,
    version: 2n,
  })
})

const provider: ProviderDocument = {
  name: 'demo',
  api: 'OpenAI',
  baseUrl: 'http://127.0.0.1:1/v1',
  auth: { type: 'None' },
  headers: [],
}
const price = {
  input: nanoRub(5n),
  cachedInput: null,
  cacheWrite: null,
  output: nanoRub(0n),
  reasoning: nanoRub(999_999_999_999_999n),
  perRequest: nanoRub(0n),
}

function routeOf(model: string): StoredRoute {
  return storedRoute(model, {
    maxOutputTokens: 10,
    attempts: 2,
    parameters: { drop: [], rename: {}, defaults: { temperature: 0.5 } },
  })
}

test('the catalog carries each route with the price in force, and leaves out those without one', async () => {
  await using database = await createDatabase()
  await inTestScope(database.pool, (client) => putProvider(client, provider))
  for (const model of ['a/priced', 'a/unpriced'])
    await inTestScope(database.pool, (client) => putRoute(client, routeOf(model), 'priced'))
  await inTestScope(database.pool, (client) => putRoute(client, routeOf('a/free'), 'free'))
  await inTestScope(database.pool, (client) => putPrice(client, 'a/priced', { ...price, input: nanoRub(1n) }))
  const { priceId } = await inTestScope(database.pool, (client) => putPrice(client, 'a/priced', price))

  const catalog = await readCatalog(database.pool)
  expect(catalog.providers).toEqual([provider])
  expect(catalog.unpriced).toEqual(['a/unpriced'])
  const routes = catalog.routes.map((route) => routeDocumentSchema.parse(route))
  expect(routes).toMatchObject([
    { ...routeOf('a/free'), price: null },
    { ...routeOf('a/priced'), price: { id: priceId, ...price } },
  ])
})

test('the revision grows with every change and stays where nothing changed', async () => {
  await using database = await createDatabase()
  const db = database.pool
  const changes: (() => Promise<unknown>)[] = [
    () => inTestScope(db, (client) => putProvider(client, provider)),
    () => inTestScope(db, (client) => putRoute(client, routeOf('a/b'), 'priced')),
    () => inTestScope(db, (client) => putRoute(client, routeOf('a/b'), 'free')),
    () => inTestScope(db, (client) => putRoute(client, { ...routeOf('a/b'), attempts: 3 }, 'free')),
    () => inTestScope(db, (client) => putPrice(client, 'a/b', price)),
    () => inTestScope(db, (client) => putPrice(client, 'a/b', { ...price, cachedInput: nanoRub(1n) })),
    () => inTestScope(db, (client) => removeRoute(client, 'a/b')),
    () => inTestScope(db, (client) => removeProvider(client, 'demo')),
  ]
  for (const change of changes) {
    const before = await readCatalogRevision(db)
    await change()
    expect(await readCatalogRevision(db)).toBe(before + 1n)
    await change()
    expect(await readCatalogRevision(db)).toBe(before + 1n)
  }
})

test('a price that comes into force by the clock makes a separate revision', async () => {
  await using database = await createDatabase()
  const db = database.pool
  await inTestScope(db, (client) => putRoute(client, routeOf('a/b'), 'priced'))
  await db.query(
    `insert into model_prices (id, model, scheduled, valid_from, input, output, per_request)
     values ($1, 'a/b', true, now() + interval '300 ms', 1, 1, 0)`,
    [randomUUID()],
  )
  const before = await readCatalog(db)
  expect(before.unpriced).toEqual(['a/b'])
  await vi.waitFor(async () => expect(await readCatalogRevision(db)).toBe(before.revision + 1n))
  expect((await readCatalog(db)).unpriced).toEqual([])
  expect(await readCatalogRevision(db)).toBe(before.revision + 1n)
})

test('a price written now counts now, though an earlier one was written while the clock was ahead, and when that time comes', async () => {
  await using database = await createDatabase()
  const db = database.pool
  await inTestScope(db, (client) => putRoute(client, routeOf('a/b'), 'priced'))
  const inputInForce = async () => (await readCatalog(db)).routes.map(({ price }) => price?.input)
  await db.query(
    `insert into model_prices (id, model, valid_from, input, output, per_request)
     values ($1, 'a/b', now() + interval '200 ms', 7, 7, 0)`,
    [randomUUID()],
  )
  expect(await inputInForce()).toEqual(['7'])
  await inTestScope(db, (client) => putPrice(client, 'a/b', { ...price, input: nanoRub(8n) }))
  expect(await inputInForce()).toEqual(['8'])
  await vi.waitFor(async () => {
    const { rows } = await db.query('select from model_prices where valid_from > now()')
    expect(rows).toEqual([])
  })
  expect(await inputInForce()).toEqual(['8'])
  expect(
    await inTestScope(db, (client) => putPrice(client, 'a/b', { ...price, input: nanoRub(8n) })),
  ).toMatchObject({ created: false })
})

test('a scheduled price counts from its time on, whatever was written before it, until the next one is written', async () => {
  await using database = await createDatabase()
  const db = database.pool
  await inTestScope(db, (client) => putRoute(client, routeOf('a/b'), 'priced'))
  const inputInForce = async () => (await readCatalog(db)).routes.map(({ price }) => price?.input)
  await inTestScope(db, (client) => putPrice(client, 'a/b', { ...price, input: nanoRub(7n) }))
  await db.query(
    `insert into model_prices (id, model, scheduled, valid_from, input, output, per_request)
     values ($1, 'a/b', true, clock_timestamp() + interval '300 ms', 9, 9, 0)`,
    [randomUUID()],
  )
  await inTestScope(db, (client) => putPrice(client, 'a/b', { ...price, input: nanoRub(8n) }))
  expect(await inputInForce()).toEqual(['8'])
  await vi.waitFor(async () => expect(await inputInForce()).toEqual(['9']))
  await inTestScope(db, (client) => putPrice(client, 'a/b', { ...price, input: nanoRub(10n) }))
  expect(await inputInForce()).toEqual(['10'])
})

test('ten thousand routes are read within two seconds', async () => {
  await using database = await createDatabase()
  const db = database.pool
  const { model: _, ...rest } = routeOf('a/b')
  await db.query(
    `insert into model_routes (model, document, free)
     select 'm/' || n, $1::jsonb || jsonb_build_object('model', 'm/' || n), false from generate_series(1, 10000) n`,
    [JSON.stringify(rest)],
  )
  await db.query(
    `insert into model_prices (id, model, input, output, per_request)
     select gen_random_uuid(), 'm/' || n, n, n, 0 from generate_series(1, 10000) n`,
  )
  const start = performance.now()
  expect((await readCatalog(db)).routes).toHaveLength(10_000)
  expect(performance.now() - start).toBeLessThan(2_000)
})

test('changes of keys, catalog and credits are announced, and charges are not', async () => {
  const listener = new Client({ connectionString: url })
  await listener.connect()
  const heard: (string | undefined)[] = []
  listener.on('notification', ({ payload }) => heard.push(payload))
  await listener.query('listen model_gateway_changes')
  const { keyId } = await createCustomer(pool, { balanceNano: 5n })
  await vi.waitFor(() => expect(new Set(heard)).toEqual(new Set(['keys', 'credits'])))
  heard.length = 0
  await inTestScope(pool, (client) => blockKey(client, keyId, 'owner'))
  await inTestScope(pool, (client) => putRoute(client, routeOf(`a/${randomUUID()}`), 'free'))
  await vi.waitFor(() => expect(heard).toEqual(['keys', 'catalogue']))
  await listener.end()
})
