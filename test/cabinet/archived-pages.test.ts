import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { overviewEndpoints } from '#cabinet/billing/overview-endpoints'
import { receiptRoute } from '#cabinet/billing/receipt-route'
import { requestEndpoints } from '#cabinet/billing/request-endpoints'
import { userSessions } from '#cabinet/web/internal/api/caller'
import { buildApp } from '#cabinet/web/internal/app'
import { createWebMetrics } from '#cabinet/web/metrics'
import { archiveJobs, leaveJob } from '#core/archive/archive-job'
import { openArchive } from '#core/archive/archive-store'
import { createPool } from '#core/db/pool'
import { createKey } from '#core/keys/key-store'
import { lookAtBooks } from '#core/ledger/internal/look-at-books'
import { postBatch } from '#core/ledger/post-batch'
import { connectRedis } from '#core/redis/redis-connection'
import { clickHouseOfThisFile } from '../support/clickhouse.ts'
import { createCustomer, entryOf, pepper, recordOf, takenBack, uuidV7 } from '../support/customer.ts'
import { unthrottled } from '../support/no-throttles.ts'
import { makeOldPartitions } from '../support/old-partitions.ts'
import { createDatabase, urlAs } from '../support/postgres.ts'
import { runJob } from '../support/run-job.ts'
import { inTestScope } from '../support/scope.ts'
import { signedIn } from '../support/signed-in.ts'
import { gateOfThisTest } from '../support/tcp-gate.ts'

const redis = connectRedis('redis://127.0.0.1:1', { name: 'test' }) // only for rejected requests
afterAll(() => redis.close())
const log = pino({ level: 'silent' })
const newEngine = await clickHouseOfThisFile('engine 26.9')
const oldServer = await clickHouseOfThisFile('server 18.16')
const models = ['demo/echo', "it's \\ odd"]
const outcomes = ['completed', 'swept', 'upstream_cut'] as const

describe.each([newEngine, oldServer])('with ClickHouse $form', (clickHouse) => {
  /** A customer with requests in two old months and now, the cabinet that shows them, and a way to let the months leave. */
  async function cabinetOfThisTest() {
    const database = await createDatabase()
    onTestFinished(() => database[Symbol.asyncDispose]())
    const months = await makeOldPartitions(database.pool)
    const customer = await createCustomer(database.pool, { balanceNano: 10n ** 12n })
    const { keyId } = await inTestScope(database.pool, (client) =>
      createKey(
        client,
        { organizationId: customer.organizationId, name: 'tagged', managedBy: 'cabinet', tags: ['team-a'] },
        pepper,
      ),
    )
    const gate = await gateOfThisTest(clickHouse.port)
    const url = await clickHouse.createDatabase()
    const through = new URL(url)
    through.port = String(gate.port)
    const [store, archive] = [openArchive(url), openArchive(through.href, { timeoutMs: 3_000 })]
    onTestFinished(() => Promise.all([store.close(), archive.close()]).then(() => undefined))
    await store.create()
    const pool = createPool({
      databaseUrl: urlAs('model_gateway_worker', database.url),
      applicationName: 'archive-test',
      connectionCountMax: 4,
    })
    const asCabinet = createPool({
      databaseUrl: urlAs('model_gateway_cabinet', database.url),
      applicationName: 'cabinet of the test',
    })
    onTestFinished(() => Promise.all([pool.end(), asCabinet.end()]).then(() => undefined))
    const { cookie } = await signedIn(database.pool, { organizationId: customer.organizationId })
    const app = buildApp({
      sessions: userSessions(asCabinet),
      metrics: createWebMetrics(),
      endpoints: [
        ...requestEndpoints({ pool: asCabinet, archive }),
        ...overviewEndpoints({ pool: asCabinet }),
      ],
      trustedProxies: [],
      appOrigin: 'http://localhost',
      ...unthrottled,
      byKey: {
        pool: asCabinet,
        keyPepper: pepper,
        now: () => performance.now(),
        routes: [receiptRoute({ pool: asCabinet, redis, archive }, { perMinute: 10_000 })],
      },
      log,
    })
    onTestFinished(() => app.close())
    const registry = new Registry()
    const [, copy] = archiveJobs({ pool, registry, log }, store)
    const leave = leaveJob({ pool, store, keptDays: 35, registry, log })
    return {
      months,
      customer,
      /** Its other key, which has a tag. */
      tagged: { ...customer, keyId },
      gate,
      post: (entries: Parameters<typeof postBatch>[1]) => postBatch(pool, entries),
      letLeave: async () => {
        while ((await runJob(copy)) === 'more');
        await lookAtBooks(pool)
        while ((await runJob(leave)) === 'more');
      },
      kept: async () =>
        (await database.pool.query('select count(*)::int as count from requests')).rows[0]?.count,
      get: async (path: string, query: Readonly<Record<string, string>> = {}) =>
        app.inject({ url: `/api/v1${path}`, query, headers: { cookie, 'sec-fetch-site': 'same-origin' } }),
      receipt: async (id: string) =>
        app.inject({ url: `/v1/requests/${id}`, headers: { authorization: `Bearer ${customer.key}` } }),
    }
  }

  type Cabinet = Awaited<ReturnType<typeof cabinetOfThisTest>>

  /** All pages of a list, joined. */
  async function listAll({ get }: Cabinet, query: Readonly<Record<string, string>>) {
    const rows: { readonly id: string }[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const response = await get('/requests', { ...query, limit: '7', ...(cursor === '' ? {} : { cursor }) })
      expect(response.statusCode).toBe(200)
      rows.push(...response.json().data)
      cursor = response.json().next_cursor
    }
    return rows
  }

  async function everything(
    cabinet: Cabinet,
    ids: readonly string[],
    queries: readonly Readonly<Record<string, string>>[],
  ) {
    const lists = []
    for (const query of queries) lists.push(await listAll(cabinet, query))
    const receipts = []
    for (const id of ids)
      receipts.push((await cabinet.get(`/requests/${id}`)).json(), (await cabinet.receipt(id)).json())
    return {
      lists,
      receipts,
      csv: (await cabinet.get('/requests.csv')).body,
      first: (await cabinet.get('/overview')).json().first_request_at,
    }
  }

  test('pages, receipts and exports are the same after months left Postgres', async () => {
    const cabinet = await cabinetOfThisTest()
    const { months, customer, tagged, post, letLeave, kept } = cabinet
    const times = [months[0].fromMs, months[1].fromMs, Date.now() - 60_000]
    const entries = times.flatMap((fromMs, m) =>
      Array.from({ length: 20 }, (_, n) =>
        entryOf(n % 4 === 3 ? tagged : customer, BigInt(m * 100 + n), {
          requestId: uuidV7(fromMs + Math.floor(n / 3)), // some in one millisecond
          record: recordOf({
            modelRan: models[n % 2] ?? null,
            outcome: outcomes[n % 3] ?? 'completed',
            tokens: { input: n },
            ...(n % 5 === 0 && { attempts: [] }),
          }),
        }),
      ),
    )
    await post(entries)
    await post([entries[2], entries[25]].flatMap((entry) => (entry === undefined ? [] : [takenBack(entry)])))
    const day = (ms: number) => new Date(ms).toISOString()
    const queries = [
      {},
      { model: models[1] ?? '' },
      { outcome: 'completed', key_id: customer.keyId },
      { outcome: 'hold_expired', from: day(months[0].fromMs + 3), to: day(months[1].fromMs + 3) },
      { from: day(months[1].fromMs + 2) },
      { provider: 'demo', status: '2xx' },
      { provider: '-' },
      { status: 'error' },
      { tag: 'team-a' },
      { tag: '-', status: 'error', provider: '-' },
      { status: '503', error_code: 'service_unavailable' },
      { model_contains: 'ODD', cost_from: '0.000000005' },
      { id_contains: (entries[4]?.requestId ?? '').slice(24, 36), cost_to: '1' },
      { id_contains: entries[25]?.requestId ?? '' },
    ]
    const ids = [0, 2, 24, 25, 58].map((n) => entries[n]?.requestId ?? '')
    const before = await everything(cabinet, ids, queries)
    expect(before.lists[0]).toHaveLength(60)
    expect(before.lists.slice(6, 10).map(({ length }) => length)).toEqual([12, 18, 15, 3])
    expect(before.first).toBe(day(months[0].fromMs))
    await letLeave()
    expect(await kept()).toBe(20)
    expect(await everything(cabinet, ids, queries)).toEqual(before)
    expect((await cabinet.get(`/requests/${uuidV7(months[0].fromMs)}`)).statusCode).toBe(404)
  })

  test('while ClickHouse is unavailable, only requests that left are, and the response names the reason', async () => {
    const cabinet = await cabinetOfThisTest()
    const { months, customer, post, letLeave, gate, get, receipt } = cabinet
    const [old, recent] = [months[0].fromMs, Date.now()].map((atMs) =>
      entryOf(customer, 1n, { requestId: uuidV7(atMs) }),
    )
    if (old === undefined || recent === undefined) throw new Error('no entries')
    await post([old, recent])
    await letLeave()
    gate.shut()
    const today = { from: new Date(Date.now() - 86_400_000).toISOString() }
    expect((await get('/requests', today)).json().data).toMatchObject([{ id: recent.requestId }])
    expect((await get('/requests.csv', today)).statusCode).toBe(200)
    for (const query of [{ limit: '1' }, { limit: '5' }]) {
      const page = (await get('/requests', query)).json()
      expect(page.data).toMatchObject([{ id: recent.requestId }])
      expect((await get('/requests', { cursor: page.next_cursor })).json().code).toBe(
        'older_requests_unavailable',
      )
    }
    expect((await get(`/requests/${recent.requestId}`)).statusCode).toBe(200)
    expect((await receipt(recent.requestId)).statusCode).toBe(200)
    for (const path of [`/requests?to=${today.from}`, '/requests.csv', `/requests/${old.requestId}`]) {
      const response = await get(path)
      expect([response.statusCode, response.json().code]).toEqual([503, 'older_requests_unavailable'])
    }
    const refused = await receipt(old.requestId)
    expect([refused.statusCode, refused.json().error.message]).toEqual([
      503,
      expect.stringContaining('archive'),
    ])
    const stranger = await get(`/requests/${uuidV7()}`)
    expect(stranger.statusCode).toBe(404)
    gate.open()
    expect((await get('/requests')).json().data).toHaveLength(2)
  })
})
