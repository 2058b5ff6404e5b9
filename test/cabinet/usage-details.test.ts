import { Redis } from 'ioredis'
import { afterAll, expect, test } from 'vitest'
import { activityEndpoints } from '#cabinet/billing/activity-endpoints'
import { usageEndpoints } from '#cabinet/billing/usage-endpoints'
import { userSessions } from '#cabinet/web/internal/api/caller'
import { buildApp } from '#cabinet/web/internal/app'
import { createWebMetrics } from '#cabinet/web/metrics'
import { migrate } from '#core/db/migrate'
import { createPool } from '#core/db/pool'
import { createKey, setTags } from '#core/keys/key-store'
import { checkInvariants } from '#core/ledger/invariants'
import { postBatch } from '#core/ledger/post-batch'
import { connectRedis } from '#core/redis/redis-connection'
import { refusedName } from '#core/redis/shard'
import {
  type Customer,
  createCustomer,
  createOlderCustomer,
  entryOf,
  pepper,
  recordOf,
  takenBack,
  uuidV7,
} from '../support/customer.ts'
import { unthrottled } from '../support/no-throttles.ts'
import { createOlderDatabase, migrationNames } from '../support/older-database.ts'
import { databaseOfThisFile, urlAs } from '../support/postgres.ts'
import { redisOfThisFile } from '../support/redis.ts'
import { redisUrlOf } from '../support/redis-logins.ts'
import { inTestScope } from '../support/scope.ts'
import { signedIn } from '../support/signed-in.ts'

// Providers, errors and durations: what their figures count, and that the log has exactly the same requests.
const [{ pool, url }, redis] = await Promise.all([databaseOfThisFile(), redisOfThisFile()])
const asCabinet = createPool({
  databaseUrl: urlAs('model_gateway_cabinet', url),
  applicationName: 'cabinet of the test',
})
const cabinetRedis = connectRedis(redisUrlOf.cabinet(redis.url), { name: 'cabinet', timeoutMs: 2_000 })
await cabinetRedis.connected(5_000)
const lists = new Redis(redis.url)
const app = buildApp({
  sessions: userSessions(asCabinet),
  metrics: createWebMetrics(),
  endpoints: [
    ...activityEndpoints({ pool: asCabinet, redis: cabinetRedis }),
    ...usageEndpoints({ pool: asCabinet }),
  ],
  trustedProxies: [],
  appOrigin: 'http://localhost',
  ...unthrottled,
  log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
})
afterAll(async () => {
  await app.close()
  await asCabinet.end()
  cabinetRedis.close()
  lists.disconnect()
})

type Query = Readonly<Record<string, string>>

async function text(cookie: string, path: string, query: Query) {
  const response = await app.inject({
    url: `/api/v1${path}`,
    query: query as Record<string, string>,
    headers: { cookie, 'sec-fetch-site': 'same-origin' },
  })
  expect(response.statusCode, response.body).toBe(200)
  return response.body
}

const read = async (cookie: string, path: string, query: Query) => JSON.parse(await text(cookie, path, query))

const hourMs = 3_600_000
/** A whole hour some days ago, in a new month at most. */
const startMs = Math.floor(Date.now() / hourMs) * hourMs - 72 * hourMs
const span = {
  from: new Date(startMs).toISOString(),
  to: new Date(startMs + 24 * hourMs).toISOString(),
}

const attempt = (provider: string) => ({ model: 'm', provider, backend: 'b', result: 'answered', ms: 1 })

/** Forty requests in ten hours, of all kinds. */
async function customerWithRequests(): Promise<Customer & { readonly cookie: string }> {
  const customer = await createCustomer(pool, { balanceNano: 1_000_000n })
  const kinds = [
    { attempts: [attempt('Acme'), attempt('backup')], totalMs: 2_000 },
    { outcome: 'failed', status: 502, attempts: [attempt('acme')], totalMs: 90_000 },
    { outcome: 'upstream_cut', attempts: [attempt('ACME')] },
    { outcome: 'client_gone', status: 499, attempts: [] },
    { outcome: 'refused_upstream', status: 400, attempts: [attempt('backup')] },
  ] as const
  const entries = Array.from({ length: 40 }, (_, n) =>
    entryOf(customer, BigInt(n), {
      requestId: uuidV7(startMs + Math.floor((n * 10 * hourMs) / 40)),
      record: recordOf({
        modelRan: `demo/model-${n % 3}`,
        ...kinds[n % 5],
        attempts: [...(kinds[n % 5]?.attempts ?? [])],
      }),
    }),
  )
  await postBatch(pool, entries)
  const { cookie } = await signedIn(pool, { organizationId: customer.organizationId })
  return { ...customer, cookie }
}

type Figure = Readonly<Record<'requests' | 'errors', number>> &
  Readonly<Record<'start' | 'model' | 'api_key_id' | 'provider' | 'cost_rub', string>> & {
    readonly durations: readonly { readonly requests: number }[]
  }

test('the log has exactly the requests, the errors and the completed ones behind each figure', async () => {
  const { cookie } = await customerWithRequests()
  for (const [bucket, group_by, name] of [
    ['hour', 'provider', 'provider'],
    ['day', 'provider', 'provider'],
    ['day', 'model', 'model'],
    ['hour', 'key', 'api_key_id'],
  ] as const) {
    const { data, totals } = await read(cookie, '/usage', { ...span, bucket, group_by, durations: 'true' })
    expect([totals.requests, totals.errors]).toEqual([40, 24])
    for (const figure of data as readonly Figure[]) {
      const endMs = bucket === 'hour' ? Date.parse(figure.start) + hourMs : nextMidnightMs(figure.start)
      const behind = {
        from: figure.start,
        to: new Date(Math.min(endMs, startMs + 24 * hourMs)).toISOString(),
        [name === 'api_key_id' ? 'key_id' : name]: figure[name],
        limit: '100',
      }
      const all = await read(cookie, '/activity', { ...behind, type: 'request' })
      expect(all.data).toHaveLength(figure.requests)
      expect(all.totals).toEqual({ requests: figure.requests, cost_rub: figure.cost_rub })
      const errors = await read(cookie, '/activity', { ...behind, type: 'request', status: 'error' })
      expect(errors.data).toHaveLength(figure.errors)
      const completed = await read(cookie, '/activity', { ...behind, outcome: 'completed' })
      expect(completed.data).toHaveLength(
        figure.durations.reduce((sum: number, { requests }) => sum + requests, 0),
      )
    }
  }
})

/** Midnight in Moscow. */
function nextMidnightMs(start: string): number {
  const dayMs = 24 * hourMs
  return (Math.floor((Date.parse(start) + 3 * hourMs) / dayMs) + 1) * dayMs - 3 * hourMs
}

test('the file has providers, errors and durations, and its sums equal the totals', async () => {
  const { cookie } = await customerWithRequests()
  const query = { ...span, group_by: 'provider' }
  const { totals } = await read(cookie, '/usage', { ...query, durations: 'true' })
  const [head, ...lines] = (await text(cookie, '/usage.csv', query)).trimEnd().split('\r\n')
  const rows = lines.map((line) => {
    const cells = line.split(',')
    return Object.fromEntries((head ?? '').split(',').map((name, at) => [name, cells[at] ?? '']))
  })
  expect([...new Set(rows.map(({ provider }) => provider))].toSorted()).toEqual(["'-", 'acme', 'backup']) // no formula
  for (const name of ['requests', 'errors'])
    expect(rows.reduce((sum, row) => sum + Number(row[name]), 0)).toBe(totals[name])
  expect(totals.duration_p50_ms).toBeGreaterThan(1_900)
  expect(totals.duration_p50_ms).toBeLessThan(2_512)
  // Only it completed some, on each day or, around midnight, on one.
  const measured = rows.filter((row) => row.duration_p95_ms !== '').map(({ provider }) => provider)
  expect([...new Set(measured)]).toEqual(['backup'])
  expect((await read(cookie, '/usage', query)).totals.duration_p95_ms).toBeNull()
})

test('the count of kept rejections is of those that match, on all pages', async () => {
  const { cookie, organizationId, keyId } = await customerWithRequests()
  const nowMs = Date.now()
  for (let n = 0; n < 5; n++)
    await lists.lpush(
      refusedName(organizationId),
      JSON.stringify({
        at: nowMs + n,
        request: uuidV7(nowMs + n),
        key: keyId,
        code: 'model_not_found',
        model: `m${n % 2}`,
      }),
    )
  const countOf = async (query: Query) =>
    (await read(cookie, '/activity', { limit: '1', ...query })).rejections.count
  expect(await countOf({ type: 'rejection' })).toBe(5)
  expect(await countOf({ model: 'm0' })).toBe(3)
  expect(await countOf({ status: 'error' })).toBe(5)
  expect(await countOf({ status: '5xx' })).toBe(0)
})

test('a key with two tags is in both rows, in the totals once, and each row leads to its requests', async () => {
  const one = await customerWithRequests()
  const other = await inTestScope(pool, (client) =>
    createKey(
      client,
      { organizationId: one.organizationId, name: 'b', managedBy: 'cabinet', tags: ['web'] },
      pepper,
    ),
  )
  await inTestScope(pool, (client) => setTags(client, one.keyId, ['web', 'team-a']))
  const untagged = await inTestScope(pool, (client) =>
    createKey(client, { organizationId: one.organizationId, name: 'c', managedBy: 'cabinet' }, pepper),
  )
  for (const [{ keyId }, cost] of [
    [other, 500n],
    [untagged, 700n],
  ] as const)
    await postBatch(pool, [entryOf({ ...one, keyId }, cost, { requestId: uuidV7(startMs + 5) })])
  const query = { ...span, bucket: 'month', group_by: 'tag' }
  const { data, totals, ledger_total_rub } = await read(one.cookie, '/usage', { ...query, durations: 'true' })
  const sums: Record<string, number> = {}
  for (const { tag, requests } of data) sums[tag] = (sums[tag] ?? 0) + requests
  expect(sums).toEqual({ '-': 1, 'team-a': 40, web: 41 })
  expect([totals.requests, totals.cost_rub]).toEqual([42, ledger_total_rub])
  for (const [tag, requests] of Object.entries(sums)) {
    const behind = await read(one.cookie, '/activity', { ...span, tag, type: 'request', limit: '100' })
    expect(behind.data).toHaveLength(requests)
    expect(behind.totals.requests).toBe(requests)
  }
  const lines = (await text(one.cookie, '/usage.csv', query)).trimEnd().split('\r\n')
  expect(lines.map((line) => line.split(',').at(-1)).toSorted()[0]).toBe("'-") // no formula
})

test('after the upgrade of a database with requests, requests of later hours are counted, and corrections of earlier ones are not', async () => {
  await using older = await createOlderDatabase(migrationNames.indexOf('0077-usage-by-provider.sql'))
  await older.pool.query('select ensure_partitions(3)')
  const customer = await createOlderCustomer(older.pool, 1_000_000n)
  const record = recordOf({ outcome: 'swept', usageSource: 'none' }) // has no price
  const early = entryOf(customer, 5n, { record })
  await postBatch(older.pool, [early, entryOf(customer, 7n, { record })])
  await migrate(older.pool)
  const { rows: begun } = await older.pool.query<{ atMs: number }>(
    'select (extract(epoch from at) * 1000)::float8 as "atMs" from usage_since',
  )
  const atMs = begun[0]?.atMs ?? 0
  expect(atMs).toBeGreaterThan(Date.now())
  await postBatch(older.pool, [
    takenBack(early),
    entryOf(customer, 9n, { record, requestId: uuidV7(atMs - 1) }),
    entryOf(customer, 11n, { record, requestId: uuidV7(atMs) }),
  ])
  const { rows: counted } = await older.pool.query(
    'select provider, requests::int, cost::int from usage_by_provider',
  )
  expect(counted).toEqual([{ provider: 'demo', requests: 1, cost: 11 }])
  const broken = (await checkInvariants(older.pool)).filter(({ breachCount }) => breachCount > 0)
  expect(broken).toEqual([])
})

test('requests from before these counts began are in every total, without errors or a provider', async () => {
  const { cookie } = await customerWithRequests()
  const since = new Date(startMs + 5 * hourMs)
  const client = await pool.connect()
  try {
    await client.query('update usage_since set at = $1', [since])
    const byProvider = await read(cookie, '/usage', {
      ...span,
      bucket: 'hour',
      group_by: 'provider',
      durations: 'true',
    })
    expect(byProvider.details_since).toBe(since.toISOString())
    expect([byProvider.totals.requests, byProvider.totals.errors]).toEqual([40, 12])
    expect(byProvider.totals.cost_rub).toBe(byProvider.ledger_total_rub)
    for (const { start, provider, errors, durations } of byProvider.data) {
      const isBefore = Date.parse(start) < since.getTime()
      expect([provider === null, errors === null]).toEqual([isBefore, isBefore])
      if (isBefore) expect(durations).toEqual([])
    }
    const before = { from: span.from, to: since.toISOString() }
    const { totals } = await read(cookie, '/usage', before)
    expect([totals.requests, totals.errors]).toEqual([20, null])
    const listed = (query: Query) =>
      read(cookie, '/activity', { ...query, provider: 'acme', type: 'request' })
    expect((await listed(span)).totals).toBeNull()
    expect((await listed({ ...span, from: since.toISOString() })).totals).not.toBeNull()
  } finally {
    await client.query("update usage_since set at = '-infinity'")
    client.release()
  }
})
