import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { readLastUsedHours } from '#cabinet/billing/key-use'
import { ledgerEndpoints } from '#cabinet/billing/ledger-endpoints'
import { overviewEndpoints } from '#cabinet/billing/overview-endpoints'
import { requestEndpoints } from '#cabinet/billing/request-endpoints'
import { spendingEndpoints } from '#cabinet/billing/spending-endpoints'
import { usageEndpoints } from '#cabinet/billing/usage-endpoints'
import { organizationEndpoints } from '#cabinet/organizations/organization-endpoints'
import { userSessions } from '#cabinet/web/internal/api/caller'
import { buildApp } from '#cabinet/web/internal/app'
import { createWebMetrics } from '#cabinet/web/metrics'
import { readOrganizationSums, waitForBalance } from '#core/admission/organization-sums'
import { inReadScope } from '#core/audit/scope'
import { createPool } from '#core/db/pool'
import { createKey, revokeKey } from '#core/keys/key-store'
import { findRub, formatRub, nanoRub } from '#core/ledger/money'
import { postBatch } from '#core/ledger/post-batch'
import { connectRedis } from '#core/redis/redis-connection'
import { epochName, organizationSumsName, shardOf } from '#core/redis/shard'
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
import { readRefusals, redisUrlOf } from '../support/redis-logins.ts'
import { inTestScope } from '../support/scope.ts'
import { signedIn } from '../support/signed-in.ts'

const { pool, url } = await databaseOfThisFile()
const redis = await redisOfThisFile()

type Sums = Awaited<ReturnType<typeof readOrganizationSums>>
const liveSums = new Map<string, Sums>()

/** The cabinet with its database role. Redis returns `liveSums`. */
const asCabinet = createPool({
  databaseUrl: urlAs('model_gateway_cabinet', url),
  applicationName: 'cabinet of the test',
})
const app = buildApp({
  sessions: userSessions(asCabinet),
  metrics: createWebMetrics(),
  endpoints: [
    ...organizationEndpoints({ pool: asCabinet }),
    ...ledgerEndpoints({ pool: asCabinet, readLiveSums: async (id) => liveSums.get(id) }),
    ...usageEndpoints({ pool: asCabinet }),
    ...requestEndpoints({ pool: asCabinet }),
    ...overviewEndpoints({ pool: asCabinet }),
    ...spendingEndpoints({ pool: asCabinet }),
  ],
  trustedProxies: [],
  appOrigin: 'http://localhost',
  ...unthrottled,
  log: {
    debug: () => undefined,
    info: () => undefined,
    warn: () => undefined,
    error: (facts: object) => process.stderr.write(`${JSON.stringify(facts)}\n`),
  },
})
afterAll(async () => {
  await app.close()
  await asCabinet.end()
})

type Call = {
  readonly query?: Readonly<Record<string, string>>
  readonly method?: 'PATCH'
  readonly body?: object
  readonly ifMatch?: string
}

async function call(cookie: string, path: string, { query = {}, method, body, ifMatch }: Call = {}) {
  const response = await app.inject({
    method: method ?? 'GET',
    url: `/api/v1${path}`,
    query,
    headers: {
      cookie,
      'sec-fetch-site': 'same-origin',
      ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
    },
    ...(body === undefined ? {} : { payload: body }),
  })
  const isJson = String(response.headers['content-type']).includes('json')
  return {
    status: response.statusCode,
    body: isJson ? response.json() : undefined,
    text: response.body,
    etag: String(response.headers.etag),
  }
}

type Row = Readonly<Record<string, unknown>>

/** Cells by column name. Our cells contain no commas or line breaks, unless a test adds them. */
function parseCsv(text: string): readonly Readonly<Record<string, string>>[] {
  const [head = [], ...lines] = text
    .replace(/^\u{feff}/u, '')
    .trimEnd()
    .split('\r\n')
    .map((line) => line.split(','))
  return lines.map((cells) => Object.fromEntries(head.map((name, index) => [name, cells[index] ?? ''])))
}

/** A row of JSON as CSV has it. */
function flat({ tokens, ...row }: Row): Record<string, string> {
  const counted = Object.entries((tokens ?? {}) as Row).map(([name, count]) => [`${name}_tokens`, count])
  const empty = tokens === null ? ['input', 'cached_input', 'cache_write', 'output', 'reasoning'] : []
  const all = { ...row, ...Object.fromEntries([...counted, ...empty.map((name) => [`${name}_tokens`, ''])]) }
  return Object.fromEntries(Object.entries(all).map(([name, value]) => [name, String(value ?? '')]))
}

/** All rows of a list, page by page. */
async function walk(
  cookie: string,
  path: string,
  query: Readonly<Record<string, string>> = {},
  between: () => Promise<unknown> = async () => undefined,
): Promise<readonly Row[]> {
  const rows: Row[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const answer = await call(cookie, path, {
      query: { ...query, ...(cursor === undefined ? {} : { cursor }) },
    })
    expect(answer).toMatchObject({ status: 200 })
    rows.push(...answer.body.data)
    cursor = answer.body.next_cursor
    await between()
  }
  return rows
}

const at = (text: string) => Date.parse(text)

/** A request that was admitted at a time. */
const entryAt = (customer: Customer, atMs: number, costNano: bigint, record = {}) =>
  entryOf(customer, costNano, {
    requestId: uuidV7(atMs),
    record: recordOf({ tokens: { input: 10 }, ...record }),
  })

/** A customer with a signed-in user. */
async function customerWith(
  role: 'owner' | 'developer' | 'accountant' = 'owner',
  balanceNano = 5_000_000_000n,
) {
  const customer = await createCustomer(pool, { balanceNano })
  const { cookie, userId } = await signedIn(pool, {
    memberRole: role,
    organizationId: customer.organizationId,
  })
  return { ...customer, cookie, userId }
}

describe('the overview', () => {
  test.each(['Europe/Moscow', 'Pacific/Auckland', 'America/New_York'])(
    'has today and yesterday of %s as their usage has them',
    async (timeZone) => {
      const customer = await customerWith()
      await pool.query('update organizations set time_zone = $2 where id = $1', [
        customer.organizationId,
        timeZone,
      ])
      const empty = (await call(customer.cookie, '/overview')).body
      expect(empty).toMatchObject({ time_zone: timeZone, has_key: true, first_request_at: null })
      expect(empty.today).toMatchObject({ requests: 0, cost_rub: '0' })
      const [today, yesterday] = [empty.today, empty.yesterday]
      const moments = [yesterday.from, today.from, today.to].flatMap((time) => [at(time) - 1, at(time)])
      await postBatch(
        pool,
        moments.map((moment, index) => entryAt(customer, moment, 10n ** BigInt(index))),
      )
      const { body } = await call(customer.cookie, '/overview')
      expect(body.first_request_at).toBe(new Date(at(yesterday.from) - 1).toISOString())
      expect([body.yesterday.cost_rub, body.today.cost_rub]).toEqual(['0.00000011', '0.000011'])
      for (const { from, to, requests, cost_rub } of [body.yesterday, body.today]) {
        const { totals } = (await call(customer.cookie, '/usage', { query: { from, to } })).body
        expect([totals.requests, totals.cost_rub]).toEqual([requests, cost_rub])
      }
    },
  )

  test('names keys from four fifths of today’s budget on, the fullest first, and none that is revoked', async () => {
    const customer = await customerWith()
    const { organizationId, cookie } = customer
    const spent = async (name: string, dailyBudgetNano: bigint | null, costNano: bigint) => {
      const budget = dailyBudgetNano === null ? null : nanoRub(dailyBudgetNano)
      const draft = { organizationId, name, managedBy: 'cabinet', dailyBudgetNano: budget } as const
      const { keyId } = await inTestScope(pool, (client) => createKey(client, draft, pepper))
      await postBatch(pool, [entryOf({ ...customer, keyId }, costNano)])
      return keyId
    }
    await spent('below', 1_000n, 799n)
    await spent('at', 1_000n, 800n)
    await spent('over', 10n, 12n)
    await spent('without', null, 1_000n)
    await spent('nothing allowed', 0n, 1n)
    const revoked = await spent('revoked', 10n, 10n)
    await inTestScope(pool, (client) => revokeKey(client, revoked))
    const { body } = await call(cookie, '/overview')
    expect(body.keys_near_budget).toEqual([
      {
        id: expect.any(String),
        name: 'over',
        daily_budget_rub: '0.00000001',
        spent_today_rub: '0.000000012',
      },
      { id: expect.any(String), name: 'at', daily_budget_rub: '0.000001', spent_today_rub: '0.0000008' },
    ])
    expect(body.near_budgets).toMatchObject([
      { name: 'over', period: 'day', budget_rub: '0.00000001', spent_rub: '0.000000012' },
      { name: 'at', period: 'day', budget_rub: '0.000001', spent_rub: '0.0000008' },
    ])
  })

  test('names a key near its budget of the week, the month or in total, by the fullest of them', async () => {
    const customer = await customerWith()
    const { organizationId, cookie } = customer
    const { rows } = await pool.query<{ today: string; week: string; month: string }>(
      `select t::text as today, date_trunc('week', t::timestamp)::date::text as week, date_trunc('month', t::timestamp)::date::text as month
         from (select (now() at time zone 'Europe/Moscow')::date as t) d`,
    )
    const { today, week, month } = rows[0] as { today: string; week: string; month: string }
    const dayBefore = (day: string) =>
      new Date(Date.parse(`${day}T00:00:00Z`) - dayMs).toISOString().slice(0, 10)
    /** A key with these budgets that spent 80 nano-rubles on each of these days. */
    const spentOn = async (name: string, budgets: object, ...days: readonly string[]) => {
      const { keyId } = await inTestScope(pool, (client) =>
        createKey(client, { organizationId, name, managedBy: 'cabinet', ...budgets }, pepper),
      )
      for (const day of new Set(days))
        await pool.query(
          'insert into key_daily_spend (key_id, day, amount, version) values ($1, $2, 80, 0)',
          [keyId, day],
        )
    }
    const hundred = nanoRub(100n)
    await spentOn('week', { weeklyBudgetNano: hundred }, week)
    await spentOn('last week', { weeklyBudgetNano: hundred }, dayBefore(week))
    await spentOn('month', { monthlyBudgetNano: hundred }, month)
    await spentOn('last month', { monthlyBudgetNano: hundred }, dayBefore(month))
    await spentOn('total', { totalBudgetNano: hundred, dailyBudgetNano: hundred }, '2026-01-01')
    await spentOn('fullest', { dailyBudgetNano: nanoRub(90n), monthlyBudgetNano: nanoRub(85n) }, today)
    const { body } = await call(cookie, '/overview')
    const named = (body.near_budgets as Row[]).map(({ name, period, budget_rub, spent_rub }) => [
      name,
      period,
      budget_rub,
      spent_rub,
    ])
    expect(named[0]).toEqual(['fullest', 'month', '0.000000085', '0.00000008'])
    expect(named.slice(1).toSorted()).toEqual(
      ['month', 'total', 'week'].map((period) => [period, period, '0.0000001', '0.00000008']),
    )
    expect(body.keys_near_budget).toEqual([])
  })
})

describe('the spending of 30 days', () => {
  test.each(['Europe/Moscow', 'America/New_York'])(
    'equals the usage of each day, key and model in %s, and so the ledger',
    async (timeZone) => {
      const customer = await customerWith()
      const { organizationId, cookie } = customer
      await pool.query('update organizations set time_zone = $2 where id = $1', [organizationId, timeZone])
      const keys = [customer.keyId]
      for (let n = 1; n < 7; n++) {
        const draft = { organizationId, name: `key ${n}`, managedBy: 'cabinet' } as const
        keys.push((await inTestScope(pool, (client) => createKey(client, draft, pepper))).keyId)
      }
      const empty = (await call(cookie, '/spending')).body
      expect(empty).toMatchObject({
        time_zone: timeZone,
        requests: 0,
        cost_rub: '0',
        top_keys: [],
        top_models: [],
      })
      expect(empty.days).toHaveLength(30)
      const [fromMs, toMs] = [at(empty.from), at(empty.to)]
      const moments = [fromMs - 1, fromMs, fromMs + 40 * 3_600_000, toMs - 1, toMs]
      await postBatch(
        pool,
        keys.flatMap((keyId, index) =>
          moments.map((moment, n) =>
            entryAt({ ...customer, keyId }, moment, 10n ** BigInt(n) * BigInt(index + 1), {
              modelRan: `demo/model-${(index + n) % 6}`,
            }),
          ),
        ),
      )
      const spending = (await call(cookie, '/spending')).body
      const span = { from: empty.from, to: empty.to }
      const usageBy = async (group_by: string, bucket: string) =>
        (await call(cookie, '/usage', { query: { ...span, group_by, bucket } })).body
      const byDay = await usageBy('model', 'day')
      expect([spending.requests, spending.cost_rub]).toEqual([byDay.totals.requests, byDay.totals.cost_rub])
      expect(spending.cost_rub).toBe(byDay.ledger_total_rub)
      for (const { day, cost_rub } of spending.days as Row[])
        expect([day, cost_rub]).toEqual([
          day,
          sumOf(byDay.data.filter((row: Row) => dayIn(row, timeZone) === day)),
        ])
      const [byKey, byModel] = [await usageBy('key', 'month'), await usageBy('model', 'month')]
      const highest = (rows: readonly Row[], name: string) =>
        [...Map.groupBy(rows, (row) => row[name])]
          .map(([id, own]) => [id, sumOf(own)] as const)
          .toSorted(([, one], [, other]) => Number(other) - Number(one))
          .slice(0, 5)
      expect(spending.top_keys.map((row: Row) => [row.api_key_id, row.cost_rub])).toEqual(
        highest(byKey.data, 'api_key_id'),
      )
      expect(spending.top_models.map((row: Row) => [row.model, row.cost_rub])).toEqual(
        highest(byModel.data, 'model'),
      )
      const [, key] = keys
      const ofKey = (await call(cookie, '/spending', { query: { key_id: key as string } })).body
      expect(ofKey.cost_rub).toBe(sumOf(byKey.data.filter((row: Row) => row.api_key_id === key)))
      expect(ofKey.top_keys).toHaveLength(1)
    },
  )

  test('of a key of another organization is nothing, as of one that does not exist', async () => {
    const [customer, other] = [await customerWith(), await customerWith()]
    await postBatch(pool, [entryOf(other, 5n)])
    const [foreign, unknown] = await Promise.all(
      [other.keyId, randomUUID()].map((key_id) => call(customer.cookie, '/spending', { query: { key_id } })),
    )
    expect(foreign).toMatchObject({ status: 200, body: { requests: 0, cost_rub: '0', top_keys: [] } })
    expect(foreign?.body).toEqual(unknown?.body)
  })
})

const dayMs = 86_400_000
const dayIn = ({ start }: Row, timeZone: string) =>
  new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' }).format(new Date(String(start)))
const sumOf = (rows: readonly Row[]) =>
  formatRub(nanoRub(rows.reduce((sum, { cost_rub }) => sum + (findRub(String(cost_rub)) ?? 0n), 0n)))

test('a key was last used in the hour of its latest request of any model, also of a free one', async () => {
  const customer = await customerWith()
  const readHours = () =>
    inReadScope(asCabinet, customer.organizationId, (client) =>
      readLastUsedHours(client, customer.organizationId, [customer.keyId, randomUUID()]),
    )
  expect(await readHours()).toEqual(new Map())
  await postBatch(pool, [
    entryAt(customer, at('2026-11-10T23:30:00+03:00'), 0n, { modelRan: 'demo/echo' }),
    entryAt(customer, at('2026-11-10T21:30:00+03:00'), 5n, { modelRan: 'demo/slow' }),
    entryAt(customer, at('2026-11-09T21:30:00+03:00'), 5n, { modelRan: 'demo/slow' }),
    entryAt(customer, at('2026-11-08T21:30:00+03:00'), 5n, { modelRan: 'demo/a' }),
  ])
  expect(await readHours()).toEqual(new Map([[customer.keyId, new Date('2026-11-10T20:00:00Z')]]))
})

describe('usage', () => {
  const month = { from: '2026-11-01', to: '2026-12-01' }

  test('of each day of Moscow equals the ledger to the nano-ruble, around midnight and after corrections', async () => {
    const customer = await customerWith()
    const evening = entryAt(customer, at('2026-11-10T23:30:00+03:00'), 1_000_000_001n)
    const night = entryAt(customer, at('2026-11-11T00:30:00+03:00'), 20_000_000_002n, {
      modelRan: 'demo/slow',
    })
    const released = {
      ...entryAt(customer, at('2026-11-10T23:59:59.999+03:00'), 7n),
      chargeKind: 'released' as const,
    }
    const later = entryAt(customer, at('2026-11-11T00:40:00+03:00'), 2n, { modelRan: 'demo/slow' })
    await postBatch(pool, [evening, night, released, later])
    await postBatch(pool, [{ ...released, chargeKind: 'settled', costNano: 300n }, takenBack(night)])
    const day = async (from: string, to: string) =>
      (await call(customer.cookie, '/usage', { query: { from, to } })).body

    const [tenth, eleventh] = [await day('2026-11-10', '2026-11-11'), await day('2026-11-11', '2026-11-12')]
    expect([tenth.totals.cost_rub, tenth.ledger_total_rub, tenth.totals.requests]).toEqual([
      '1.000000301',
      '1.000000301',
      2,
    ])
    expect([eleventh.totals.cost_rub, eleventh.ledger_total_rub]).toEqual(['0.000000002', '0.000000002'])
    expect(tenth).toMatchObject({
      from: '2026-11-09T21:00:00.000Z',
      to: '2026-11-10T21:00:00.000Z',
      time_zone: 'Europe/Moscow',
    })

    const whole = await day(month.from, month.to)
    expect(whole.data.map(({ start, model, cost_rub }: Row) => [start, model, cost_rub])).toEqual([
      ['2026-11-09T21:00:00.000Z', 'demo/echo', '1.000000301'],
      ['2026-11-10T21:00:00.000Z', 'demo/slow', '0.000000002'],
    ])
    expect([whole.totals.cost_rub, whole.ledger_total_rub]).toEqual(['1.000000303', '1.000000303'])
    const ledger = await walk(customer.cookie, '/ledger', month)
    const booked = ledger
      .filter(({ kind }) => kind === 'charge' || kind === 'adjust')
      .map(({ amount_rub }) => findRub(String(amount_rub)) ?? 0n)
      .reduce<bigint>((sum, one) => sum + one, 0n)
    expect(formatRub(nanoRub(-booked))).toBe(whole.totals.cost_rub)
  })

  test('has its days in the time zone of the organization', async () => {
    const customer = await customerWith()
    await pool.query("update organizations set time_zone = 'Asia/Vladivostok' where id = $1", [
      customer.organizationId,
    ])
    await postBatch(pool, [entryAt(customer, at('2026-11-10T23:30:00+03:00'), 5n)])
    const { body } = await call(customer.cookie, '/usage', {
      query: { from: '2026-11-11', to: '2026-11-12' },
    })
    expect(body).toMatchObject({
      time_zone: 'Asia/Vladivostok',
      data: [{ start: '2026-11-10T14:00:00.000Z' }],
    })
    expect(body.totals.cost_rub).toBe(body.ledger_total_rub)
  })

  test('by the hour and by key sums up to the same, in a span that begins within a day', async () => {
    const customer = await customerWith()
    const second = await inTestScope(pool, (client) =>
      createKey(
        client,
        { organizationId: customer.organizationId, name: 'second', managedBy: 'cabinet' },
        pepper,
      ),
    )
    const other = { ...customer, keyId: second.keyId }
    const start = at('2026-11-05T10:00:00Z')
    const entries = [0, 1, 2, 3, 30].flatMap((hours) => [
      entryAt(customer, start + hours * 3_600_000, 11n),
      entryAt(other, start + hours * 3_600_000 + 1, 13n),
    ])
    await postBatch(pool, entries)
    const query = { from: '2026-11-05T11:00:00Z', to: '2026-11-07', group_by: 'key' }
    const hours = (await call(customer.cookie, '/usage', { query: { ...query, bucket: 'hour' } })).body
    const days = (await call(customer.cookie, '/usage', { query: { ...query, bucket: 'day' } })).body
    expect(hours.totals).toEqual(days.totals)
    expect(hours.ledger_total_rub).toBe(days.totals.cost_rub)
    expect([hours.data.length, days.data.length]).toEqual([8, 4])
    expect(days.data.map(({ api_key_name }: Row) => api_key_name).toSorted()).toEqual([
      'second',
      'second',
      'test',
      'test',
    ])
    expect(days.data[0]).toMatchObject({ start: '2026-11-05T11:00:00.000Z', model: null })
    const both = (await call(customer.cookie, '/usage', { query: { ...query, group_by: 'model_and_key' } }))
      .body
    expect(both.data.map((row: Row) => ({ ...row, model: null }))).toEqual(days.data)
    expect(new Set(both.data.map(({ model }: Row) => model))).toEqual(new Set(['demo/echo']))
  })

  test('weeks begin on Monday and months on the first, but never before the span, and their sums are those of the days', async () => {
    const customer = await customerWith()
    const start = at('2026-10-01T12:00:00Z')
    await postBatch(
      pool,
      Array.from({ length: 30 }, (_, n) => entryAt(customer, start + n * 2 * 86_400_000, BigInt(n) + 1n)),
    )
    const span = { from: '2026-10-08', to: '2026-11-26' }
    const read = async (bucket: string) =>
      (await call(customer.cookie, '/usage', { query: { ...span, bucket } })).body
    const [days, weeks, months] = [await read('day'), await read('week'), await read('month')]
    const startsOf = ({ data }: { readonly data: readonly Row[] }) => data.map((row) => row.start)
    expect(startsOf(weeks).slice(0, 3)).toEqual([
      '2026-10-07T21:00:00.000Z', // Thursday, as the span
      '2026-10-11T21:00:00.000Z',
      '2026-10-18T21:00:00.000Z',
    ])
    expect(startsOf(months)).toEqual(['2026-10-07T21:00:00.000Z', '2026-10-31T21:00:00.000Z'])
    for (const { totals, ledger_total_rub } of [weeks, months])
      expect([totals, ledger_total_rub]).toEqual([days.totals, days.ledger_total_rub])
  })

  test.each([
    ['from after to', { from: '2026-11-02', to: '2026-11-01' }, 'from'],
    ['half hours', { from: '2026-11-01T00:30:00Z', to: '2026-11-02' }, 'from'],
    ['half hours at the end', { from: '2026-11-01', to: '2026-11-02T00:00:01Z' }, 'to'],
    ['more than 31 days by the hour', { from: '2026-01-01', to: '2026-02-02', bucket: 'hour' }, 'to'],
    ['more than 400 days', { from: '2024-01-01', to: '2026-02-02' }, 'to'],
    ['an end that is none', { from: 'yesterday', to: '2026-02-02' }, 'from'],
    ['a day that no month has', { from: '2026-02-30', to: '2026-03-02' }, 'from'],
    ['a year that Postgres cannot read', { from: '0000-01-01', to: '2026-03-02' }, 'from'],
    ['no end', { from: '2026-01-01' }, 'to'],
    ['another bucket', { from: '2026-01-01', to: '2026-01-02', bucket: 'year' }, 'bucket'],
    ['another group', { from: '2026-01-01', to: '2026-01-02', group_by: 'colour' }, 'group_by'],
  ])('of %s is 422, as JSON and as CSV', async (_, query, path) => {
    const { cookie } = await signedIn(pool)
    for (const list of ['/usage', '/usage.csv']) {
      const { status, body } = await call(cookie, list, { query })
      expect([status, body.code, body.errors[0].path]).toEqual([422, 'validation_failed', path])
    }
  })

  test.each(['model', 'key', 'model_and_key', 'provider'])(
    'as CSV by %s equals JSON digit for digit, over many days',
    async (group_by) => {
      const customer = await customerWith()
      const start = at('2026-10-01T12:00:00Z')
      await postBatch(
        pool,
        Array.from({ length: 60 }, (_, n) =>
          entryAt(customer, start + n * 20 * 3_600_000, BigInt(n) * 1_000_000_007n + 1n),
        ),
      )
      for (const span of [
        { from: '2026-09-20', to: '2026-12-01', bucket: 'day' },
        { from: '2026-10-02T05:00:00Z', to: '2026-11-01T06:00:00Z', bucket: 'hour' },
        { from: '2026-09-24', to: '2026-11-24', bucket: 'week', rows: 8 },
        { from: '2026-09-24', to: '2026-11-24', bucket: 'month', rows: 2 },
      ]) {
        const { rows = 20, ...asked } = span
        const query = { ...asked, group_by }
        const json = (await call(customer.cookie, '/usage', { query: { ...query, durations: 'true' } })).body
        const csv = parseCsv((await call(customer.cookie, '/usage.csv', { query })).text)
        expect(csv.length).toBeGreaterThanOrEqual(rows)
        expect(csv).toEqual(json.data.map(({ durations: _, ...row }: Row) => flat(row)))
        expect(json.totals.cost_rub).toBe(json.ledger_total_rub)
      }
    },
  )
})

describe('the ledger', () => {
  test('has its rows newest first, each once, while new ones come in', async () => {
    const customer = await customerWith()
    for (let n = 0; n < 23; n++) await postBatch(pool, [entryOf(customer, BigInt(n + 1))])
    const rows = await walk(customer.cookie, '/ledger', { limit: '5' }, () =>
      postBatch(pool, [entryOf(customer, 1n)]),
    )
    expect(rows.map(({ seq }) => Number(seq))).toEqual(Array.from({ length: 24 }, (_, n) => 24 - n))
    expect(rows.at(-1)).toMatchObject({
      kind: 'adjustment',
      amount_rub: '5',
      balance_after_rub: '5',
      tokens: null,
    })
    expect(rows.at(-2)).toMatchObject({
      kind: 'charge',
      amount_rub: '-0.000000001',
      balance_after_rub: '4.999999999',
      api_key_id: customer.keyId,
      api_key_name: 'test',
      model: 'demo/echo',
      tokens: { input: 100, output: 20 },
    })
  })

  test('can be filtered by kind and by time span', async () => {
    const customer = await customerWith()
    const inside = entryAt(customer, at('2026-11-10T00:00:00+03:00'), 3n)
    await postBatch(pool, [
      inside,
      entryAt(customer, at('2026-11-09T23:59:59.999+03:00'), 4n),
      entryAt(customer, at('2026-11-11T00:00:00+03:00'), 5n),
    ])
    await postBatch(pool, [takenBack(inside)])
    const kinds = async (query: Readonly<Record<string, string>>) =>
      (await walk(customer.cookie, '/ledger', query)).map(({ kind, amount_rub }) => [kind, amount_rub])
    expect(await kinds({ from: '2026-11-10', to: '2026-11-11' })).toEqual([
      ['adjust', '0.000000003'],
      ['charge', '-0.000000003'],
    ])
    expect(await kinds({ kind: 'adjustment' })).toEqual([['adjustment', '5']])
    expect(await kinds({ kind: 'charge', from: '2026-11-10', to: '2026-11-11' })).toEqual([
      ['charge', '-0.000000003'],
    ])
    expect(await kinds({ kind: 'refund' })).toEqual([])
  })

  test('of a span has each row of that time and no other, however late it was posted', async () => {
    const customer = await customerWith()
    const hours = [0, 50, 3, 49, 1, 26, 2, 27, 25, 24]
    for (const [n, hour] of hours.entries())
      await postBatch(pool, [entryAt(customer, at('2026-11-10T00:30:00Z') + hour * 3_600_000, BigInt(n + 1))])
    const all = (await walk(customer.cookie, '/ledger')) as readonly { created_at: string }[]
    for (const [from, to] of [
      ['2026-11-10T01:30:00Z', '2026-11-11T02:30:00Z'],
      ['2026-11-10T01:30:00.001Z', '2026-11-11T02:30:00.001Z'],
      ['2026-11-10T00:15:00Z', '2026-11-10T01:00:00Z'],
      ['2026-11-11T00:00:00Z', '2026-11-11T00:10:00Z'],
      ['2026-11-10T03:45:00Z', undefined],
      [undefined, '2026-11-12T01:45:00Z'],
    ] as const) {
      const span = { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }
      const inside = all.filter(
        ({ created_at: time }) => at(time) >= at(from ?? '2000-01-01') && at(time) < at(to ?? '2999-01-01'),
      )
      expect(await walk(customer.cookie, '/ledger', { ...span, limit: '2' })).toEqual(inside)
    }
  })

  test('as CSV is whole, however many batches it takes, and equals JSON digit for digit', async () => {
    const customer = await customerWith()
    const entries = Array.from({ length: 2_345 }, (_, n) => entryOf(customer, BigInt(n) * 999_999_937n + 1n))
    await postBatch(pool, entries)
    const rows = await walk(customer.cookie, '/ledger', { limit: '200' })
    const { status, text } = await call(customer.cookie, '/ledger.csv')
    expect([status, text.startsWith('\u{feff}seq,created_at,')]).toEqual([200, true])
    expect(rows).toHaveLength(2_346)
    expect(parseCsv(text)).toEqual(rows.map(flat))
  })

  test('as CSV defuses a name that a spreadsheet would calculate', async () => {
    const customer = await customerWith()
    await pool.query("update api_keys set name = '=1+1' where id = $1", [customer.keyId])
    await postBatch(pool, [entryOf(customer, 1n)])
    for (const path of ['/ledger.csv', '/requests.csv'])
      expect(parseCsv((await call(customer.cookie, path)).text)[0]).toMatchObject({ api_key_name: "'=1+1" })
  })

  test('shows bonuses as they were granted', async () => {
    const customer = await customerWith()
    await pool.query('select grant_trial($1, $2, $3)', [
      randomUUID(),
      customer.organizationId,
      Buffer.from(randomUUID()),
    ])
    const { body } = await call(customer.cookie, '/bonuses')
    expect(body.data).toMatchObject([{ kind: 'trial', amount_rub: '30', reversed_at: null }])
    expect(await walk(customer.cookie, '/ledger', { kind: 'trial' })).toMatchObject([
      { ref_id: body.data[0].id, amount_rub: '30' },
    ])
  })
})

describe('requests', () => {
  test('are listed newest first, each once, while new ones come in', async () => {
    const customer = await customerWith()
    const start = Date.now() - 3_600_000
    // Two in each millisecond: the id decides between them.
    const entries = Array.from({ length: 24 }, (_, n) =>
      entryAt(customer, start + Math.floor(n / 2), BigInt(n)),
    )
    await postBatch(pool, entries)
    const rows = await walk(customer.cookie, '/requests', { limit: '5' }, () =>
      postBatch(pool, [entryOf(customer, 1n)]),
    )
    expect(rows.map(({ id }) => id)).toEqual(
      entries
        .map(({ requestId }) => requestId)
        .toSorted()
        .toReversed(),
    )
    expect(rows[0]).toMatchObject({
      model_asked: 'demo/echo',
      outcome: 'completed',
      status: 200,
      total_ms: 42,
      api_key_name: 'test',
    })
  })

  test('are found by key, model, outcome and span', async () => {
    const customer = await customerWith()
    const { keyId } = await inTestScope(pool, (client) =>
      createKey(
        client,
        { organizationId: customer.organizationId, name: 'second', managedBy: 'cabinet' },
        pepper,
      ),
    )
    const one = entryAt(customer, at('2026-11-10T12:00:00Z'), 1n, { modelRan: 'demo/slow' })
    const two = entryAt({ ...customer, keyId }, at('2026-11-11T12:00:00Z'), 2n)
    const three = entryAt(customer, at('2026-11-12T12:00:00Z'), 0n, {
      modelRan: null,
      modelAsked: 'demo/slow',
      outcome: 'failed',
      status: 502,
    })
    await postBatch(pool, [one, two, three])
    const found = async (query: Readonly<Record<string, string>>) =>
      (await walk(customer.cookie, '/requests', query)).map(({ id }) => id)
    expect(await found({ key_id: keyId })).toEqual([two.requestId])
    expect(await found({ model: 'demo/slow' })).toEqual([three.requestId, one.requestId])
    expect(await found({ outcome: 'failed', model: 'demo/slow' })).toEqual([three.requestId])
    expect(await found({ from: '2026-11-11', to: '2026-11-12' })).toEqual([two.requestId])
    expect(await found({ key_id: randomUUID() })).toEqual([])
    const csv = parseCsv(
      (await call(customer.cookie, '/requests.csv', { query: { model: 'demo/slow' } })).text,
    )
    expect(csv).toEqual((await walk(customer.cookie, '/requests', { model: 'demo/slow' })).map(flat))
  })

  test('have the public name of their outcome, and are found by it or by its old name', async () => {
    const customer = await customerWith()
    const swept = entryAt(customer, at('2026-11-10T12:00:00Z'), 1n, { outcome: 'swept', status: 499 })
    await postBatch(pool, [swept, entryAt(customer, at('2026-11-11T12:00:00Z'), 1n)])
    for (const outcome of ['hold_expired', 'swept']) {
      const rows = await walk(customer.cookie, '/requests', { outcome })
      expect(rows).toMatchObject([{ id: swept.requestId, outcome: 'hold_expired' }])
      const { text } = await call(customer.cookie, '/requests.csv', { query: { outcome } })
      expect(parseCsv(text)).toEqual(rows.map(flat))
    }
    const { body } = await call(customer.cookie, `/requests/${swept.requestId}`)
    expect(body).toMatchObject({ outcome: 'hold_expired' })
  })

  test('that a filter looks for among very many are found by going on, page after page', async () => {
    const customer = await customerWith()
    const start = Date.now() - 3_600_000
    const rare = [0, 12_000, 24_999]
    const wanted = []
    for (let from = 0; from < 25_000; from += 2_500) {
      const entries = Array.from({ length: 2_500 }, (_, n) =>
        entryAt(customer, start + from + n, 1n, rare.includes(from + n) ? { outcome: 'failed' } : {}),
      )
      wanted.push(
        ...entries.filter(({ record }) => record.outcome === 'failed').map(({ requestId }) => requestId),
      )
      await postBatch(pool, entries)
    }
    const query = { outcome: 'failed' }
    const first = (await call(customer.cookie, '/requests', { query })).body
    expect([first.data.length, typeof first.next_cursor]).toEqual([1, 'string'])
    expect((await walk(customer.cookie, '/requests', query)).map(({ id }) => id)).toEqual(wanted.toReversed())
    const csv = parseCsv((await call(customer.cookie, '/requests.csv', { query })).text)
    expect(csv.map(({ id }) => id)).toEqual(wanted.toReversed())
    expect(parseCsv((await call(customer.cookie, '/requests.csv')).text)).toHaveLength(25_000)
  })

  test('have the same receipt that a key reads; requests of others are 404', async () => {
    const customer = await customerWith()
    const entry = entryOf(customer, 12_345n)
    await postBatch(pool, [entry])
    expect(await call(customer.cookie, `/requests/${entry.requestId}`)).toMatchObject({
      status: 200,
      body: {
        object: 'request',
        id: entry.requestId,
        api_key_name: 'test',
        cost_rub: '0.000012345',
        tokens: { input: 100 },
        price: null,
      },
    })
    const stranger = await signedIn(pool)
    for (const [cookie, id] of [
      [stranger.cookie, entry.requestId],
      [customer.cookie, uuidV7()],
      [customer.cookie, randomUUID()],
      [customer.cookie, 'nonsense'],
    ] as const)
      expect(await call(cookie, `/requests/${id}`)).toMatchObject({
        status: 404,
        body: { code: 'not_found' },
      })
  })
})

describe('a list', () => {
  test.each(['/ledger', '/requests'])('%s refuses a cursor that is not its own', async (path) => {
    const { cookie } = await signedIn(pool)
    const write = (position: unknown) => Buffer.from(JSON.stringify(position)).toString('base64url')
    const own = path === '/ledger' ? 'ledger_seq' : 'request_id'
    for (const cursor of [
      '',
      'x',
      '%00',
      'bnVsbA',
      write({}),
      write({ seq: 1 }),
      write({ [own]: 1 }),
      write({ [own]: '-1' }),
      write({ [own]: "1' or true" }),
      write({ [own]: '9'.repeat(40) }),
      write(path === '/ledger' ? { request_id: uuidV7() } : { ledger_seq: '1' }),
      write({ [own]: path === '/ledger' ? '1' : uuidV7(), more: 1 }),
    ]) {
      const { status, body } = await call(cookie, path, { query: { cursor } })
      expect([cursor, status, body.errors[0].path]).toEqual([cursor, 422, 'cursor'])
    }
  })

  test.each(['/ledger', '/ledger.csv', '/requests', '/requests.csv'])(
    '%s refuses what it does not know',
    async (path) => {
      const { cookie } = await signedIn(pool)
      for (const query of [
        { from: '2026-11-02', to: '2026-11-01' },
        { from: '' },
        { to: '9999-99-99' },
        { limit: '0' },
        { limit: '201' },
        { colour: 'red' },
        { kind: 'theft' },
        { key_id: 'x' },
        { outcome: 'x' },
        { model: '\0' },
      ])
        expect((await call(cookie, path, { query: query as Record<string, string> })).status).toBe(422)
    },
  )

  test('never has anything of another organization', async () => {
    const [mine, theirs] = [await customerWith(), await customerWith()]
    const entry = entryOf(theirs, 777n)
    await postBatch(pool, [entry])
    await pool.query('select grant_trial($1, $2, $3)', [
      randomUUID(),
      theirs.organizationId,
      Buffer.from(randomUUID()),
    ])
    const span = { from: '2026-01-01', to: '2027-01-01' }
    for (const [path, query] of [
      ['/ledger', {}],
      ['/ledger.csv', {}],
      ['/requests', {}],
      ['/requests.csv', {}],
      ['/bonuses', {}],
      ['/requests', { key_id: theirs.keyId }],
      ['/usage', span],
      ['/usage.csv', span],
      ['/organization', {}],
      ['/balance', {}],
      ['/usage', { ...span, group_by: 'key' }],
    ] as const) {
      const { status, text } = await call(mine.cookie, path as string, {
        query: query as Record<string, string>,
      })
      expect(status).toBe(200)
      for (const secret of [theirs.organizationId, theirs.keyId, entry.requestId, '0.000000777', 'trial'])
        expect(text).not.toContain(secret)
    }
  })
})

test('money is for owner and accountant, requests and usage for developers too', async () => {
  const { organizationId } = await createCustomer(pool)
  const span = { from: '2026-11-01', to: '2026-11-02' }
  const statuses = async (memberRole: 'owner' | 'developer' | 'accountant') => {
    const { cookie } = await signedIn(pool, { memberRole, organizationId })
    const seen = async (calls: readonly ReturnType<typeof call>[]) =>
      [...new Set((await Promise.all(calls)).map(({ status }) => status))].join()
    const money = ['/balance', '/ledger', '/ledger.csv', '/bonuses']
    const ofMoney = await seen(money.map((path) => call(cookie, path)))
    const use = ['/usage', '/usage.csv'].map((path) => call(cookie, path, { query: span }))
    const rest = ['/requests', '/requests.csv', '/organization'].map((path) => call(cookie, path))
    const ofUse = await seen([...use, ...rest])
    return [
      ofMoney,
      ofUse,
      await seen([call(cookie, '/organization', { method: 'PATCH', body: {}, ifMatch: '"x"' })]),
    ]
  }
  expect(await statuses('owner')).toEqual(['200', '200', '412'])
  expect(await statuses('accountant')).toEqual(['200', '200', '403'])
  expect(await statuses('developer')).toEqual(['403', '200', '403'])
  expect((await call('', '/ledger')).status).toBe(401)
})

describe('the balance', () => {
  test('is that of the ledger, with the pending, held and available amounts of Redis', async () => {
    const { organizationId, cookie } = await customerWith()
    liveSums.set(organizationId, {
      posted: nanoRub(5_000_000_000n),
      pending: nanoRub(7n),
      held: nanoRub(1_000_000_000n),
      version: 1n,
    })
    await pool.query('update organizations set low_balance_threshold_nano = 1500000000 where id = $1', [
      organizationId,
    ])
    expect((await call(cookie, '/balance')).body).toEqual({
      balance_rub: '5',
      live: true,
      pending_rub: '0.000000007',
      held_rub: '1',
      available_rub: '3.999999993',
      low_balance_threshold_rub: '1.5',
    })
  })

  test('is available while Redis is not, and reports that the rest is unknown', async () => {
    const { cookie } = await customerWith()
    expect((await call(cookie, '/balance')).body).toEqual({
      balance_rub: '5',
      live: false,
      pending_rub: null,
      held_rub: null,
      available_rub: null,
      low_balance_threshold_rub: null,
    })
  })
})

test('the sums of an organization are read from Redis as they are, and not from one that has lost them', async () => {
  const organizationId = randomUUID()
  const connection = connectRedis(redisUrlOf.cabinet(redis.url), { name: 'test' })
  const owner = new Redis(redis.url)
  onTestFinished(() => {
    connection.close()
    owner.disconnect()
  })
  await connection.connected(5_000)
  const epoch = epochName(shardOf(organizationId))
  const open = (runId: string, opensAt: number) =>
    owner.hset(epoch, { nonce: 'x', run_id: runId, opens_at: opensAt })
  const read = () => readOrganizationSums(connection, organizationId)
  const runId = connection.runId() ?? ''

  await open(runId, 0)
  expect(await read(), 'not told of the organization').toBeUndefined()
  const name = organizationSumsName(organizationId)
  await owner.hset(name, { posted: '9007199254740993', version: 4 })
  expect(await read()).toEqual({ posted: 9_007_199_254_740_993n, pending: 0n, held: 0n, version: 4n })
  expect(await waitForBalance(connection, organizationId, 4n)).toBe(true)
  const waiting = waitForBalance(connection, organizationId, 5n)
  await owner.hset(name, { version: 5 })
  expect(await waiting).toBe(true)
  await owner.hset(name, { pending: '12', held: '34' })
  expect(await read()).toMatchObject({ pending: 12n, held: 34n })
  await open('another run', 0)
  expect(await read(), 'opened on another server').toBeUndefined()
  await open(runId, Date.now() + 60_000)
  expect(await read(), 'not open yet').toBeUndefined()
  expect(await readRefusals(redis.url)).toEqual([])
  connection.close()
  expect(await read(), 'away').toBeUndefined()
  expect(await waitForBalance(connection, organizationId, 5n)).toBe(false)
})

describe('the organization', () => {
  test('is shown with the command that lets a namespace charge it', async () => {
    const { organizationId, cookie } = await signedIn(pool)
    const { body, etag } = await call(cookie, '/organization')
    expect(body).toEqual({
      id: organizationId,
      name: expect.stringMatching(/^org-/),
      display_name: null,
      time_zone: 'Europe/Moscow',
      kubectl_label_command: `kubectl label namespace <NAMESPACE> modelgateway.dev/organization=${body.name}`,
      low_balance_threshold_rub: null,
      daily_budget_rub: null,
      weekly_budget_rub: null,
      monthly_budget_rub: null,
      total_budget_rub: null,
    })
    expect(etag).toMatch(/^"[0-9a-f]{16}"$/)
  })

  test('is changed field by field, with a record of who did it; its name never', async () => {
    const { organizationId, userId, cookie } = await signedIn(pool)
    const before = await call(cookie, '/organization')
    const patch = (body: object, ifMatch: string) =>
      call(cookie, '/organization', { method: 'PATCH', body, ifMatch })
    const first = await patch({ display_name: ' Ромашка ', low_balance_threshold_rub: '100.5' }, before.etag)
    expect(first).toMatchObject({
      status: 200,
      body: { ...before.body, display_name: 'Ромашка', low_balance_threshold_rub: '100.5' },
    })
    expect(await patch({ time_zone: 'Asia/Omsk' }, before.etag)).toMatchObject({ status: 412 })
    const second = await patch({ time_zone: 'Asia/Omsk', display_name: null }, first.etag)
    expect(second.body).toEqual({ ...first.body, time_zone: 'Asia/Omsk', display_name: null })
    expect((await patch({ time_zone: 'Asia/Omsk' }, second.etag)).etag, 'nothing changed').toBe(second.etag)
    expect((await call(cookie, '/organization')).body).toEqual(second.body)
    expect(await patch({ name: 'other' }, second.etag)).toMatchObject({ status: 422 })
    expect(await call(cookie, '/organization', { method: 'PATCH', body: {} })).toMatchObject({ status: 428 })

    const { rows } = await pool.query<Row>(
      `select actor_kind, actor_id, before, after from audit_log
        where organization_id = $1 and action = 'organization.update' order by id`,
      [organizationId],
    )
    expect(rows).toEqual([
      {
        actor_kind: 'person',
        actor_id: userId,
        before: { displayName: null, lowBalanceThresholdNano: null },
        after: { displayName: 'Ромашка', lowBalanceThresholdNano: '100500000000' },
      },
      {
        actor_kind: 'person',
        actor_id: userId,
        before: { displayName: 'Ромашка', timeZone: 'Europe/Moscow' },
        after: { displayName: null, timeZone: 'Asia/Omsk' },
      },
    ])
  })

  test.each([
    { time_zone: 'Asia/Kolkata' },
    { time_zone: 'Mars/Phobos' },
    { time_zone: 'MSK-3' },
    { time_zone: null },
    { display_name: '' },
    { display_name: ' ' },
    { display_name: 'a\nb' },
    { display_name: '\0' },
    { display_name: 'x'.repeat(101) },
    { display_name: 7 },
    { display_name: '\ud800' },
    { low_balance_threshold_rub: '-1' },
    { low_balance_threshold_rub: 100 },
    { low_balance_threshold_rub: '1e9' },
    { low_balance_threshold_rub: '1000000000.1' },
    { low_balance_threshold_rub: '0.0000000001' },
    { daily_budget_rub: '0' },
    { weekly_budget_rub: '-1' },
    { monthly_budget_rub: '1000000000000' },
    { total_budget_rub: 100 },
    { total_budget_rub: '1000000000' },
  ])('does not become %j', async (body) => {
    const { cookie } = await signedIn(pool)
    const { etag } = await call(cookie, '/organization')
    const refused = await call(cookie, '/organization', { method: 'PATCH', body, ifMatch: etag })
    expect([refused.status, refused.body.errors?.[0].path]).toEqual([422, Object.keys(body)[0]])
  })

  test('has budgets, one by one, with a record of each change; the overview shows what is spent of them', async () => {
    const { organizationId, cookie } = await signedIn(pool)
    let { etag, body } = await call(cookie, '/organization')
    const patch = async (change: object) => {
      const answer = await call(cookie, '/organization', { method: 'PATCH', body: change, ifMatch: etag })
      expect(answer).toMatchObject({ status: 200, body: { ...body, ...change } })
      ;({ etag, body } = answer)
    }
    await patch({ weekly_budget_rub: '0.000000001', total_budget_rub: '999999999.999999999' })
    await patch({ weekly_budget_rub: '2', daily_budget_rub: '1', monthly_budget_rub: '30' })
    const shown = async () => (await call(cookie, '/overview')).body.organization_budgets
    const at = expect.stringMatching(/T21:00:00.000Z$/)
    expect(await shown()).toEqual([
      { period: 'day', budget_rub: '1', spent_rub: '0', resets_at: at },
      { period: 'week', budget_rub: '2', spent_rub: '0', resets_at: at },
      { period: 'month', budget_rub: '30', spent_rub: '0', resets_at: at },
      { period: 'total', budget_rub: '999999999.999999999', spent_rub: '0', resets_at: null },
    ])
    await patch({
      daily_budget_rub: null,
      weekly_budget_rub: null,
      monthly_budget_rub: null,
      total_budget_rub: null,
    })
    expect(await shown()).toEqual([])
    const { rows } = await pool.query<Row>(
      `select before, after from audit_log where organization_id = $1 and action = 'organization.update' order by id limit 2`,
      [organizationId],
    )
    expect(rows).toEqual([
      {
        before: { weeklyBudgetNano: null, totalBudgetNano: null },
        after: { weeklyBudgetNano: '1', totalBudgetNano: '999999999999999999' },
      },
      {
        before: { dailyBudgetNano: null, weeklyBudgetNano: '1', monthlyBudgetNano: null },
        after: {
          dailyBudgetNano: '1000000000',
          weeklyBudgetNano: '2000000000',
          monthlyBudgetNano: '30000000000',
        },
      },
    ])
  })

  test('keeps one of two changes that were made from the same reading', async () => {
    const { cookie } = await signedIn(pool)
    const { etag } = await call(cookie, '/organization')
    const answers = await Promise.all(
      ['one', 'two', 'three'].map((display_name) =>
        call(cookie, '/organization', { method: 'PATCH', body: { display_name }, ifMatch: etag }),
      ),
    )
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 412, 412])
  })
})
