import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { afterAll, expect, test } from 'vitest'
import { activityEndpoints } from '#cabinet/billing/activity-endpoints'
import { requestEndpoints } from '#cabinet/billing/request-endpoints'
import { usageEndpoints } from '#cabinet/billing/usage-endpoints'
import { userSessions } from '#cabinet/web/internal/api/caller'
import { buildApp } from '#cabinet/web/internal/app'
import { createWebMetrics } from '#cabinet/web/metrics'
import { createPool } from '#core/db/pool'
import { createKey } from '#core/keys/key-store'
import { findRub, formatRub, nanoRub } from '#core/ledger/money'
import { postBatch } from '#core/ledger/post-batch'
import { connectRedis } from '#core/redis/redis-connection'
import { refusedName } from '#core/redis/shard'
import {
  type Customer,
  createCustomer,
  entryOf,
  pepper,
  recordOf,
  takenBack,
  uuidV7,
} from '../support/customer.ts'
import { unthrottled } from '../support/no-throttles.ts'
import { databaseOfThisFile, urlAs } from '../support/postgres.ts'
import { redisOfThisFile } from '../support/redis.ts'
import { redisUrlOf } from '../support/redis-logins.ts'
import { inTestScope } from '../support/scope.ts'
import { signedIn } from '../support/signed-in.ts'

const [{ pool, url }, redis] = await Promise.all([databaseOfThisFile(), redisOfThisFile()])
const asCabinet = createPool({
  databaseUrl: urlAs('model_gateway_cabinet', url),
  applicationName: 'cabinet of the test',
})
const cabinetRedis = connectRedis(redisUrlOf.cabinet(redis.url), { name: 'cabinet', timeoutMs: 2_000 })
await cabinetRedis.connected(5_000)
const lists = new Redis(redis.url)

function appWith(connection: typeof cabinetRedis) {
  return buildApp({
    sessions: userSessions(asCabinet),
    metrics: createWebMetrics(),
    endpoints: [
      ...activityEndpoints({ pool: asCabinet, redis: connection }),
      ...requestEndpoints({ pool: asCabinet }),
      ...usageEndpoints({ pool: asCabinet }),
    ],
    trustedProxies: [],
    appOrigin: 'http://localhost',
    ...unthrottled,
    log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
  })
}

const app = appWith(cabinetRedis)
afterAll(async () => {
  await app.close()
  await asCabinet.end()
  cabinetRedis.close()
  lists.disconnect()
})

type Query = Readonly<Record<string, string>>

async function read(cookie: string, query: Query = {}, path = '/activity', at = app) {
  const response = await at.inject({
    url: `/api/v1${path}`,
    query: query as Record<string, string>,
    headers: { cookie, 'sec-fetch-site': 'same-origin' },
  })
  return { status: response.statusCode, body: response.json() }
}

/** All rows, page by page. */
async function walk(cookie: string, query: Query = {}, path = '/activity') {
  const rows: Readonly<Record<string, string>>[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const { status, body } = await read(cookie, { ...query, ...(cursor && { cursor }) }, path)
    expect(status, JSON.stringify(body)).toBe(200)
    rows.push(...body.data)
    cursor = body.next_cursor
  }
  return rows
}

async function customerWith() {
  const customer = await createCustomer(pool)
  const { cookie } = await signedIn(pool, { organizationId: customer.organizationId })
  return { ...customer, cookie }
}

type RecordFields = Parameters<typeof recordOf>[0]

const entryAt = (customer: Customer, atMs: number, costNano: bigint, record: RecordFields = {}) =>
  entryOf(customer, costNano, {
    requestId: uuidV7(atMs),
    record: recordOf({ tokens: { input: 10 }, ...record }),
  })

/** As a gateway lists a rejection. @returns the id of the request. */
async function reject(
  { organizationId, keyId }: Pick<Customer, 'organizationId' | 'keyId'>,
  atMs: number,
  { code = 'model_not_found', model = 'no/such' } = {},
): Promise<string> {
  const request = uuidV7(atMs)
  await lists.lpush(
    refusedName(organizationId),
    JSON.stringify({ at: atMs, request, key: keyId, code, model }),
  )
  return request
}

const anHourAgoMs = () => Date.now() - 3_600_000

test('requests and rejections are one list, newest first, each once, in pages of any size', async () => {
  const customer = await customerWith()
  const startMs = anHourAgoMs()
  const expected: string[] = []
  for (let n = 0; n < 24; n++) {
    if (n % 3 === 1) expected.push(await reject(customer, startMs + n))
    else {
      const entry = entryAt(customer, startMs + n, BigInt(n))
      await postBatch(pool, [entry])
      expected.push(entry.requestId)
    }
  }
  for (const limit of ['1', '5', '24', '200'])
    expect((await walk(customer.cookie, { limit })).map(({ id }) => id)).toEqual(expected.toReversed())
  for (const [type, isRejection] of [
    ['request', false],
    ['rejection', true],
  ] as const)
    expect((await walk(customer.cookie, { limit: '3', type })).map(({ id }) => id)).toEqual(
      expected.filter((_, n) => (n % 3 === 1) === isRejection).toReversed(),
    )
})

test('a row has what the client received, and what the receipt has', async () => {
  const customer = await customerWith()
  const rejected = await reject(customer, anHourAgoMs(), { code: 'model_not_allowed', model: 'a/b' })
  const attempts = ['one', 'two'].map((provider) => ({
    model: 'demo/slow',
    provider,
    backend: 'b',
    result: 'answered',
    ms: 1,
  }))
  const entry = entryAt(customer, anHourAgoMs() + 5, 12n, {
    modelRan: 'demo/slow',
    attempts,
    tokens: { input: 1, cachedInput: 900, output: 7 },
  })
  await postBatch(pool, [entry])
  const { body } = await read(customer.cookie)
  expect(body.data).toMatchObject([
    {
      type: 'request',
      id: entry.requestId,
      api_key_name: 'test',
      model: 'demo/slow',
      provider: 'two',
      attempts: 2,
      status: 200,
      outcome: 'completed',
      tokens: { input: 1, cached_input: 900, output: 7 },
      cost_rub: '0.000000012',
      first_content_ms: 30,
      total_ms: 42,
    },
    {
      type: 'rejection',
      id: rejected,
      api_key_id: customer.keyId,
      api_key_name: 'test',
      model: 'a/b',
      status: 403,
      error_code: 'model_not_allowed',
      outcome: null,
      cost_rub: null,
    },
  ])
})

test('a rejection by a budget names the budget and its period', async () => {
  const customer = await customerWith()
  const { organizationId, keyId } = customer
  const atMs = anHourAgoMs()
  for (const [index, budget] of ['k:w', 'o:m', '3f-a:m'].entries()) {
    const request = uuidV7(atMs + index)
    const entry = { at: atMs, request, key: keyId, model: 'a/b', reason: 'budget_exceeded', budget }
    await lists.lpush(refusedName(organizationId), JSON.stringify(entry))
  }
  await reject(customer, atMs + 3)
  const rows = await walk(customer.cookie)
  const scopes = [null, 'member_budget', 'organization_monthly_budget', 'weekly_budget']
  expect(rows.map(({ scope }) => scope)).toEqual(scopes)
  expect(rows.map(({ budget }) => budget)).toEqual([
    null,
    { scope: 'member', period: 'month' },
    { scope: 'organization', period: 'month' },
    { scope: 'key', period: 'week' },
  ])
})

test('every filter finds exactly what matches, of requests and of rejections', async () => {
  const customer = await customerWith()
  const { keyId } = await inTestScope(pool, (client) =>
    createKey(
      client,
      { organizationId: customer.organizationId, name: 'second', managedBy: 'cabinet' },
      pepper,
    ),
  )
  const second = { ...customer, keyId }
  const startMs = anHourAgoMs()
  const attempt = { model: 'm', provider: 'backup', backend: 'b', result: 'status_500', ms: 1 }
  const dear = entryAt(customer, startMs, 5_000n, { modelRan: 'Acme/Large-2' })
  const failed = entryAt(second, startMs + 1, 0n, {
    modelRan: null,
    modelAsked: 'acme/large-3',
    outcome: 'failed',
    status: 502,
    errorCode: 'upstream_error',
    attempts: [attempt],
  })
  const cheap = entryAt(customer, startMs + 2, 100n, { modelRan: 'demo/echo' })
  await postBatch(pool, [dear, failed, cheap])
  const limited = await reject(second, startMs + 3, { code: 'rate_limit_exceeded', model: 'acme/large-3' })
  const names = new Map([
    [dear.requestId, 'dear'],
    [failed.requestId, 'failed'],
    [cheap.requestId, 'cheap'],
    [limited, 'limited'],
  ])
  const found = async (query: Query) =>
    (await walk(customer.cookie, query)).map(({ id }) => names.get(id ?? '')).join(' ')

  expect(await found({})).toBe('limited cheap failed dear')
  expect(await found({ key_id: keyId.toUpperCase() })).toBe('limited failed')
  expect(await found({ model: 'acme/large-3' })).toBe('limited failed')
  expect(await found({ model: 'acme' })).toBe('')
  expect(await found({ model_contains: 'LARGE' })).toBe('limited failed dear')
  expect(await found({ model_contains: '%' })).toBe('')
  for (const provider of ['backup', 'BackUp']) expect(await found({ provider })).toBe('failed')
  expect(await found({ error_code: 'Upstream_Error' })).toBe('failed')
  expect(await found({ outcome: 'failed' })).toBe('failed')
  expect(await found({ status: '5xx' })).toBe('failed')
  expect(await found({ status: '429' })).toBe('limited')
  expect(await found({ status: '200' })).toBe('cheap dear')
  expect(await found({ error_code: 'upstream_error' })).toBe('failed')
  expect(await found({ error_code: 'rate_limit_exceeded' })).toBe('limited')
  expect(await found({ cost_from: '0.0000001' })).toBe('cheap dear')
  expect(await found({ cost_from: '0.0000001', cost_to: '0.000001' })).toBe('cheap')
  expect(await found({ cost_to: '0' })).toBe('limited failed')
  for (const { requestId } of [dear, cheap]) {
    expect(await found({ id_contains: `chatcmpl-${requestId.toUpperCase()}` })).toBe(names.get(requestId))
    expect(await found({ id_contains: requestId.slice(-14) })).toBe(names.get(requestId))
  }
  expect(await found({ id_contains: limited })).toBe('limited')
  expect(await found({ id_contains: limited.slice(-14) })).toBe('limited')
  const at = new Date(startMs + 2).toISOString()
  expect(await found({ from: at })).toBe('limited cheap')
  expect(await found({ to: at })).toBe('failed dear')
  expect(await found({ key_id: keyId, status: '5xx', model_contains: 'acme' })).toBe('failed')
})

test('the log has nothing of another organization, not even by its key or id', async () => {
  const [mine, theirs] = [await customerWith(), await customerWith()]
  const entry = entryAt(theirs, anHourAgoMs(), 7n)
  await postBatch(pool, [entry])
  const rejected = await reject(theirs, anHourAgoMs())
  const unknown = { key_id: randomUUID() }
  for (const query of [
    {},
    { key_id: theirs.keyId },
    { id_contains: entry.requestId },
    { id_contains: rejected },
    { id_contains: rejected.slice(-12) },
  ])
    expect((await read(mine.cookie, query)).body.data).toEqual([])
  const { rejections: _, ...foreign } = (await read(mine.cookie, { key_id: theirs.keyId })).body
  const { rejections: __, ...none } = (await read(mine.cookie, unknown)).body
  expect(foreign).toEqual(none)
})

test('the requests behind each figure of the usage have exactly its count and sum', async () => {
  const customer = await customerWith()
  const { keyId } = await inTestScope(pool, (client) =>
    createKey(
      client,
      { organizationId: customer.organizationId, name: 'second', managedBy: 'cabinet' },
      pepper,
    ),
  )
  const dayMs = 86_400_000
  const midnightMs = Date.parse('2026-11-20T21:00:00Z') // in Moscow
  const entries = Array.from({ length: 60 }, (_, n) =>
    entryAt(
      n % 3 === 0 ? { ...customer, keyId } : customer,
      midnightMs + Math.floor(((n - 30) * dayMs) / 17),
      BigInt(n) * 1_234_567_891n,
      { modelRan: `demo/model-${n % 4}` },
    ),
  )
  await postBatch(pool, entries)
  await reject(customer, Date.parse('2026-11-21T12:00:00Z')) // costs nothing, and is in no figure
  await postBatch(pool, entries.slice(-1).map(takenBack)) // lowers its figure

  const span = { from: '2026-11-18', to: '2026-11-24' }
  for (const [bucket, group_by] of [
    ['day', 'model'],
    ['day', 'key'],
    ['hour', 'model_and_key'],
  ] as const) {
    const { data: figures, totals } = (await read(customer.cookie, { ...span, bucket, group_by }, '/usage'))
      .body
    expect(totals.requests).toBe(60)
    for (const { start, model, api_key_id, requests, cost_rub } of figures) {
      const behind = {
        from: start,
        to: new Date(Date.parse(start) + (bucket === 'day' ? dayMs : 3_600_000)).toISOString(),
        ...(model !== null && { model }),
        ...(api_key_id !== null && { key_id: api_key_id }),
        type: 'request',
      }
      const rows = await walk(customer.cookie, { ...behind, limit: '7' })
      const first = (await read(customer.cookie, behind)).body
      expect({ requests: rows.length, cost_rub: sumOf(rows) }).toEqual({ requests, cost_rub })
      expect(first.totals).toEqual({ requests, cost_rub })
    }
  }
})

function sumOf(rows: readonly Readonly<Record<string, string>>[]): string {
  const costs = rows.map(({ cost_rub }) => findRub(cost_rub ?? '') ?? nanoRub(0n))
  return formatRub(nanoRub(costs.reduce((sum, cost) => sum + cost, 0n)))
}

test('the answer states how far back its rejections go, and whether they are available', async () => {
  const customer = await customerWith()
  await postBatch(pool, [entryAt(customer, anHourAgoMs(), 7n)])
  const ageOf = ({ rejections }: { readonly rejections: { readonly since: string } }) =>
    Date.now() - Date.parse(rejections.since)
  expect(ageOf((await read(customer.cookie)).body)).toBeCloseTo(7 * 86_400_000, -5)
  const startMs = anHourAgoMs()
  const many = Array.from({ length: 1_000 }, (_, n) =>
    JSON.stringify({
      at: startMs + n,
      request: uuidV7(startMs + n),
      key: customer.keyId,
      code: 'invalid_json',
    }),
  )
  await lists.lpush(refusedName(customer.organizationId), ...many)
  expect(ageOf((await read(customer.cookie)).body)).toBeLessThan(2 * 3_600_000)
  expect((await read(customer.cookie, { type: 'request' })).body.rejections).toBeNull()

  const closed = connectRedis('redis://127.0.0.1:1', { name: 'test', timeoutMs: 100 })
  closed.close()
  const without = appWith(closed)
  const { status, body } = await read(customer.cookie, {}, '/activity', without)
  await without.close()
  expect([status, body.rejections.live, body.data.length]).toEqual([200, false, 1])
})

test('rejections are counted by code and by key, as the log finds them, in any span', async () => {
  const [customer, other] = [await customerWith(), await customerWith()]
  const { organizationId } = customer
  const draft = { organizationId, name: 'second', managedBy: 'cabinet' } as const
  const { keyId } = await inTestScope(pool, (client) => createKey(client, draft, pepper))
  const hourAgoMs = Math.floor(anHourAgoMs() / 1_000) * 1_000
  const dayAgoMs = hourAgoMs - 86_400_000
  await reject({ organizationId, keyId }, dayAgoMs)
  await reject(other, hourAgoMs)
  for (const code of ['invalid_json', 'model_not_found', 'invalid_json'])
    await reject(customer, hourAgoMs, { code })
  await reject({ organizationId, keyId }, hourAgoMs, { code: 'invalid_json' })

  const from = new Date(hourAgoMs).toISOString()
  for (const span of [{}, { from }, { to: from }]) {
    const { body } = await read(customer.cookie, span, '/rejection-counts')
    expect(body.live).toBe(true)
    const found = async (query: Query) =>
      (await walk(customer.cookie, { type: 'rejection', ...span, ...query })).length
    expect(body.count).toBe(await found({}))
    for (const { code, count } of body.by_code) expect(count).toBe(await found({ error_code: code }))
    for (const { api_key_id, count } of body.by_key) expect(count).toBe(await found({ key_id: api_key_id }))
  }
  const { body } = await read(customer.cookie, {}, '/rejection-counts')
  expect(body).toMatchObject({
    count: 5,
    by_code: [
      { code: 'invalid_json', count: 3 },
      { code: 'model_not_found', count: 2 },
    ],
  })
  expect(body.by_key).toMatchObject([
    { api_key_id: customer.keyId, count: 3 },
    { api_key_id: keyId, api_key_name: 'second', count: 2 },
  ])
  const backwards = { from, to: new Date(dayAgoMs).toISOString() }
  expect((await read(customer.cookie, backwards, '/rejection-counts')).status).toBe(422)
})

test('a filter that cannot match is refused, and its field is named', async () => {
  const { cookie } = await customerWith()
  for (const query of [
    { model_contains: 'x'.repeat(10_000) },
    { model: 'x'.repeat(10_000) },
    { id_contains: 'x'.repeat(10_000) },
    { error_code: 'x'.repeat(10_000) },
    { provider: 'x\0' },
    { status: '6xx' },
    { status: '20' },
    { cost_from: '-1' },
    { cost_to: 'NaN' },
    { cost_from: '1e9' },
    { type: 'all' },
    { to: '2026-13-01' },
  ]) {
    const { status, body } = await read(cookie, query)
    expect([status, body.errors?.[0]?.path]).toEqual([422, Object.keys(query)[0]])
  }
  expect((await read(cookie, { from: '2026-11-02', to: '2026-11-01' })).status).toBe(422)
})
