import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { ledgerEndpoints } from '#cabinet/billing/ledger-endpoints'
import { userSessions } from '#cabinet/web/internal/api/caller'
import { buildApp } from '#cabinet/web/internal/app'
import { createWebMetrics } from '#cabinet/web/metrics'
import { archiveJobs, leaveJob } from '#core/archive/archive-job'
import { openArchive } from '#core/archive/archive-store'
import { chargeTable } from '#core/archive/internal/archive-table'
import { findLedgerMonths, leaveLedgerMonth } from '#core/archive/internal/leave-ledger'
import { prepareSums } from '#core/archive/internal/month-sums'
import { verifyLedger } from '#core/archive/internal/verify-ledger'
import { createPool, type Queryable } from '#core/db/pool'
import { credit } from '#core/ledger/credit'
import { auditBooksIfDue } from '#core/ledger/internal/audit-books'
import { lookAtBooks } from '#core/ledger/internal/look-at-books'
import { checkInvariants } from '#core/ledger/invariants'
import { setLanes } from '#core/ledger/lanes'
import { nanoRub } from '#core/ledger/money'
import { postBatch } from '#core/ledger/post-batch'
import { clickHouseOfThisFile } from '../support/clickhouse.ts'
import { createCustomer, entryOf, recordOf, takenBack, uuidV7 } from '../support/customer.ts'
import { forge } from '../support/forge.ts'
import { unthrottled } from '../support/no-throttles.ts'
import { makeOldPartitions } from '../support/old-partitions.ts'
import { createDatabase, urlAs } from '../support/postgres.ts'
import { runJob } from '../support/run-job.ts'
import { inTestScope } from '../support/scope.ts'
import { signedIn } from '../support/signed-in.ts'
import { gateOfThisTest } from '../support/tcp-gate.ts'

const log = pino({ level: 'silent' })
const swept = recordOf({ outcome: 'swept', usageSource: 'none', tokens: { input: 100, output: 20 } })
const hourMs = 3_600_000

/** A transaction that has read already; it ends with the test. */
async function openTransaction(pool: Pool, isolation: 'read committed' | 'repeatable read') {
  const client = await pool.connect()
  onTestFinished(() => client.release(true))
  await client.query('set idle_in_transaction_session_timeout = 0')
  await client.query(`begin isolation level ${isolation}`)
  await client.query('select from organizations limit 1')
  return client
}

const oldServer = await clickHouseOfThisFile('server 18.16')
const newEngine = await clickHouseOfThisFile('engine 26.9')

describe.each([oldServer, newEngine])('with ClickHouse $form', (clickHouse) => {
  /** A customer with charges and credits in two old months and now, whose requests of these months left Postgres. */
  async function ledgerOfThisTest({ lanes = 1, monthsLeft = 1 } = {}) {
    const database = await createDatabase()
    onTestFinished(() => database[Symbol.asyncDispose]())
    const { pool } = database
    const months = await makeOldPartitions(pool, 14)
    const customer = await createCustomer(pool, { balanceNano: 10n ** 12n })
    const other = await createCustomer(pool, { balanceNano: 10n ** 12n })
    const gate = await gateOfThisTest(clickHouse.port)
    const url = await clickHouse.createDatabase()
    const through = new URL(url)
    through.port = String(gate.port)
    const store = openArchive(through.href)
    onTestFinished(() => store.close())
    await store.create()
    await store.create(chargeTable)
    const worker = createPool({
      databaseUrl: urlAs('model_gateway_worker', database.url),
      applicationName: 'archive-test',
      connectionCountMax: 4,
    })
    onTestFinished(() => worker.end())
    const charge = (atMs: number, cost: bigint, of = customer) =>
      entryOf(of, cost, {
        requestId: uuidV7(atMs),
        record: swept,
        day: Math.floor((atMs + 3 * hourMs) / 86_400_000),
      })
    const pay = (atMs: number) =>
      inTestScope(pool, (client) =>
        credit(client, {
          organizationId: customer.organizationId,
          kind: 'adjustment',
          refId: randomUUID(),
          amount: nanoRub(500n),
          at: new Date(atMs),
        }),
      )
    const [{ fromMs: first }, { fromMs: second }] = months
    const old = Array.from({ length: 6 }, (_, n) => charge(first + n * 80 * hourMs, BigInt(n)))
    await postBatch(pool, old)
    await pay(first + hourMs)
    await inTestScope(pool, (client) => setLanes(client, customer.organizationId, lanes))
    // At 23:30 in UTC it is the next month in Moscow.
    const edges = [second - hourMs / 2, second + hourMs / 2, second - hourMs / 3].map((at) => charge(at, 7n))
    for (const edge of edges) await postBatch(pool, [edge, charge(second + 50 * hourMs, 9n)])
    await postBatch(pool, [charge(first + 99 * hourMs, 20n, other)])
    await pay(second + 2 * hourMs)
    const [back] = old.slice(-1)
    if (back !== undefined) await postBatch(pool, [takenBack(back)])
    await postBatch(pool, [charge(Date.now(), 11n)])
    const registry = new Registry()
    const [, copy] = archiveJobs({ pool: worker, registry, log }, store)
    const requestsLeave = leaveJob({ pool: worker, store, keptDays: 35, registry, log })
    const look = async () =>
      (await lookAtBooks(worker))?.breaches
        .filter(({ breachCount }) => breachCount > 0)
        .map(({ name }) => name)
    while ((await runJob(copy)) === 'more');
    await look()
    for (let left = 0; left < monthsLeft; left++) expect(await runJob(requestsLeave)).toBe('more')
    const charges = async () =>
      (
        await pool.query(
          `select count(*) filter (where ts < now() - interval '13 months')::int as old, count(*)::int as all
             from balance_ledger where kind = 'charge'`,
        )
      ).rows[0]
    const brokenInAll = async () =>
      (await checkInvariants(pool)).filter(({ breachCount }) => breachCount > 0).map(({ name }) => name)
    return {
      pool,
      through: through.href,
      databaseUrl: database.url,
      months,
      customer,
      old,
      brokenInAll,
      charge,
      pay,
      gate,
      url,
      store,
      look,
      charges,
      /** Lets the oldest month leave; `undefined`: there is none. */
      async leaveOldest() {
        const [oldest] = await findLedgerMonths(pool)
        if (oldest === undefined) return undefined
        const client = await pool.connect()
        try {
          return await leaveLedgerMonth(client, store, oldest, { attemptsMax: 2 })
        } finally {
          client.release()
        }
      },
      /** As the command `invariants`, the nightly audit, and the incremental one. */
      async broken() {
        const inAll = await brokenInAll()
        await pool.query('update invariant_audit set wanted_since = clock_timestamp()')
        expect(await auditBooksIfDue(worker)).toBe(true)
        expect(await look()).toEqual(inAll)
        return inAll
      },
      async verified() {
        const found = []
        for await (const { differences } of verifyLedger(pool, store)) found.push(...differences)
        return found
      },
    }
  }

  test.each([1, 4])('a month leaves the ledger of %i lanes, and every sum is still proven', async (lanes) => {
    const ledger = await ledgerOfThisTest({ lanes, monthsLeft: 2 })
    expect(await ledger.broken()).toEqual([])
    expect(await ledger.charges()).toEqual({ old: 12, all: 13 })
    const tables = async () =>
      (await ledger.pool.query("select count(*)::int as count from balance_ledger where kind <> 'charge'"))
        .rows
    const others = await tables()
    expect(await ledger.leaveOldest()).toEqual({ is: 'left', charges: 8n })
    expect(await ledger.broken()).toEqual([])
    expect(await ledger.leaveOldest()).toEqual({ is: 'left', charges: 4n })
    expect(await ledger.leaveOldest()).toEqual({ is: 'waiting', for: 'requests' })
    expect(await ledger.charges()).toEqual({ old: 0, all: 1 })
    expect(await tables()).toEqual(others)
    expect(await ledger.broken()).toEqual([])
    expect(await ledger.verified()).toEqual([])
    await postBatch(ledger.pool, [ledger.charge(Date.now(), 5n), ledger.charge(Date.now(), 6n)])
    await ledger.pay(ledger.months[0].fromMs + 3 * hourMs) // a credit of an archived month is posted
    expect(await ledger.broken()).toEqual([])
    await ledger.pool.query('select ensure_partitions(3)')
    expect(await ledger.charges()).toEqual({ old: 0, all: 3 })
  })

  test('audits and the cursors of changes go on while the charges of a month are summed', async () => {
    const ledger = await ledgerOfThisTest({ lanes: 4 })
    const { pool } = ledger
    const [oldest] = await findLedgerMonths(pool)
    if (oldest === undefined) throw new Error('no month')
    const { partition, ...span } = oldest
    const holder = await openTransaction(pool, 'read committed')
    const summing = await pool.connect()
    onTestFinished(() => summing.release(true))
    const { rows } = await summing.query<{ pid: number }>('select pg_backend_pid() as pid')
    await holder.query('lock table lane_runs in access exclusive mode')
    const summed = prepareSums(summing, partition, span)
    summed.catch(() => undefined)
    const state = async () => {
      const found = await pool.query(
        `select wait_event_type = 'Lock' as "isWaiting", backend_xid is null as "hasNoId",
                not exists (select from pg_locks l where l.pid = a.pid and locktype = 'advisory') as "isFree"
           from pg_stat_activity a where pid = $1`,
        [rows[0]?.pid],
      )
      return found.rows[0]
    }
    const paused = { isWaiting: true, hasNoId: true, isFree: true }
    await vi.waitFor(async () => expect(await state()).toEqual(paused), { timeout: 10_000 })
    await holder.query('rollback')
    await summed
    expect(await ledger.leaveOldest()).toEqual({ is: 'left', charges: 8n })
    expect(await ledger.broken()).toEqual([])
  })

  test('a transaction that began before a month left sees its payments afterwards', async () => {
    const ledger = await ledgerOfThisTest()
    const payments = `select seq from balance_ledger where kind = 'adjustment' and organization_id = $1 order by seq`
    const readPayments = async (client: Queryable) =>
      (await client.query(payments, [ledger.customer.organizationId])).rows
    const expected = await readPayments(ledger.pool)
    expect(expected).toHaveLength(3)
    const early = await openTransaction(ledger.pool, 'repeatable read')
    expect(await ledger.leaveOldest()).toEqual({ is: 'busy' }) // it does not see the copy of them
    await early.query('lock table lane_runs in access exclusive mode') // sums wait for it
    const leaving = ledger.leaveOldest()
    leaving.catch(() => undefined)
    await vi.waitFor(
      async () => {
        const waiting = await ledger.pool.query(
          "select from pg_locks where relation = 'lane_runs'::regclass and not granted",
        )
        expect(waiting.rows).toHaveLength(1)
      },
      { timeout: 10_000 },
    )
    const late = await openTransaction(ledger.pool, 'repeatable read')
    await early.query('commit')
    expect(await leaving).toEqual({ is: 'left', charges: 8n })
    expect(await readPayments(late)).toEqual(expected)
    await late.query('commit')
    expect(await ledger.broken()).toEqual([])
  })

  test('a payment of the month that is posted while it leaves is kept, and an older copy is replaced', async () => {
    const ledger = await ledgerOfThisTest()
    const [first, second] = ledger.months
    await ledger.pool.query('select copy_ledger_month($1)', [`balance_ledger_${second.suffix}`])
    const early = await openTransaction(ledger.pool, 'repeatable read')
    expect(await ledger.leaveOldest()).toEqual({ is: 'busy' })
    await early.query('commit')
    await ledger.pay(first.fromMs + 5 * hourMs)
    const left = ledger.pool.query("select leave_ledger_month($1, 0, 0, '{}')", [
      `balance_ledger_${first.suffix}`,
    ])
    await expect(left).rejects.toMatchObject({
      code: '55P03',
      message: expect.stringContaining('not copied'),
    })
    await ledger.look()
    expect(await ledger.leaveOldest()).toEqual({ is: 'left', charges: 8n })
    const { rows } = await ledger.pool.query(
      `select count(*)::int as count from balance_ledger_${first.suffix} where kind = 'adjustment'`,
    )
    expect(rows).toEqual([{ count: 2 }])
    expect(await ledger.broken()).toEqual([])
  })

  test('a month stays while its partition is locked, audits have not added its entries, or some are in the default partition', async () => {
    const ledger = await ledgerOfThisTest()
    const { pool, months } = ledger
    const [{ fromMs, suffix }] = months
    const posting = await openTransaction(pool, 'read committed')
    await posting.query(`lock table balance_ledger_${suffix} in row exclusive mode`)
    expect(await ledger.leaveOldest()).toEqual({ is: 'busy' })
    await posting.query('rollback')
    await ledger.pay(fromMs + 5 * hourMs)
    expect(await ledger.leaveOldest()).toEqual({ is: 'waiting', for: 'audits' })
    await ledger.look()
    await ledger.pay(fromMs - hourMs)
    expect(await ledger.leaveOldest()).toEqual({ is: 'waiting', for: 'stray_entries' })
    expect(await ledger.charges()).toEqual({ old: 12, all: 13 })
  })

  test('a late charge of a month that left is rejected, and none is in the default partition', async () => {
    const ledger = await ledgerOfThisTest()
    await ledger.leaveOldest()
    const late = ledger.charge(ledger.months[0].fromMs + hourMs, 3n)
    await expect(postBatch(ledger.pool, [late])).rejects.toMatchObject({ code: '22023' })
    const insert = `insert into balance_ledger (organization_id, seq, kind, ref_id, amount, balance_after, ts)
                    values ($1, 1000, 'charge', $2, -1, 1, uuid_time($2))`
    await expect(
      ledger.pool.query(insert, [ledger.customer.organizationId, late.requestId]),
    ).rejects.toMatchObject({ code: '22023', message: expect.stringContaining('archived') })
    const { rows } = await ledger.pool.query('select from balance_ledger_default')
    expect(rows).toEqual([])
    expect(await ledger.broken()).toEqual([])
  })

  test('a changed sum of archived charges is found, wherever it is', async () => {
    const ledger = await ledgerOfThisTest({ lanes: 4 })
    await ledger.leaveOldest()
    const forgeries = [
      ['balance_is_sum_of_ledger', 'archived_ledger set amount = amount + 1'],
      ['ledger_has_no_gap', 'archived_ledger set amount = amount + 1'],
      ['ledger_has_no_gap', 'archived_ledger set entries = entries + 1'],
      ['ledger_has_no_gap', 'archived_ledger set first_seq = first_seq + 1'],
      ['ledger_has_no_gap', 'archived_ledger set last_seq = last_seq + 1'],
      ['ledger_has_no_gap', 'archived_ledger set last_balance = last_balance + 1'],
      ['ledger_has_no_gap', 'archived_ledger set amounts[1] = amounts[1] + 1, amount = amount + 1'],
      ['ledger_has_no_gap', 'archived_ledger set balances[1] = balances[1] + 1'],
      [
        'ledger_has_no_gap',
        'archived_ledger set seqs = seqs - int8multirange(int8range(lower(seqs), lower(seqs) + 1))',
      ],
      ['ledger_hour_is_sum_of_ledger', 'archived_ledger_hours set charged = charged + 1'],
      ['ledger_hour_is_sum_of_ledger', 'archived_ledger_hours set first_seq = first_seq + 1'],
      ['key_day_is_sum_of_ledger', 'archived_key_days set amount = amount + 1'],
    ] as const
    const tables = ['archived_ledger', 'archived_ledger_hours', 'archived_key_days']
    await forge(ledger.pool, tables.map((table) => `create table kept_${table} as table ${table}`).join(';'))
    for (const [breaks, change] of forgeries) {
      await forge(ledger.pool, `update ${change}`)
      expect(await ledger.look(), change).toContain(breaks)
      expect(await ledger.brokenInAll(), change).toContain(breaks)
      await forge(
        ledger.pool,
        tables
          .map((table) => `delete from ${table}; insert into ${table} select * from kept_${table}`)
          .join(';'),
      )
      expect(await ledger.look(), change).toEqual([])
    }
  })

  test('verify names a charge that was changed in ClickHouse, and the account of one that is missing', async () => {
    const ledger = await ledgerOfThisTest()
    const { customer, months, url } = ledger
    await ledger.leaveOldest()
    expect(await ledger.verified()).toEqual([])
    const names = Object.keys(chargeTable.columns).map((name) => (name === 'model' ? "'forged'" : name))
    const ref = ledger.old[1]?.requestId
    await clickHouse.query(
      url,
      `insert into charges select ${names.join(', ')} from charges where toString(ref_id) = '${ref}'`,
    )
    const account = { organizationId: customer.organizationId, lane: 0 }
    expect(await ledger.verified()).toEqual([
      { ...account, differing: ['digest1', 'digest2'], changed: [ref] },
    ])
    await clickHouse.query(url, 'drop table charges')
    await ledger.store.create(chargeTable)
    expect(await ledger.verified()).toHaveLength(2)
    expect(months).toHaveLength(3)
  })

  test('a month whose charges differ stays and is named, and leaves when they do not', async () => {
    const ledger = await ledgerOfThisTest()
    const [first] = ledger.months
    const extra = `insert into charges select toUUID('${randomUUID()}'), place, seq, ref_id, rank, amount, balance, balance_after,
      ${first.fromMs}, posted_at, api_key_id, day, model, price_id, tokens, usage_source, digest from charges limit 1`
    ledger.gate.holdAnswers()
    const cut = ledger.leaveOldest()
    cut.catch(() => undefined)
    await vi.waitFor(() => ledger.gate.cut())
    ledger.gate.shut()
    await expect(cut).rejects.toThrow('ClickHouse failed')
    expect(await ledger.charges()).toEqual({ old: 12, all: 13 })
    ledger.gate.letAnswersPass()
    ledger.gate.open()
    const reading = await openTransaction(ledger.pool, 'read committed')
    await reading.query('select from balance_ledger limit 1')
    expect(await ledger.leaveOldest()).toEqual({ is: 'busy' })
    await reading.query('commit')
    await clickHouse.query(ledger.url, extra)
    expect(await ledger.leaveOldest()).toMatchObject({
      is: 'different',
      differences: [{ is: 'missing in Postgres' }],
    })
    expect(await ledger.charges()).toEqual({ old: 12, all: 13 })
    await clickHouse.query(ledger.url, 'drop table charges')
    await ledger.store.create(chargeTable)
    expect(await ledger.leaveOldest()).toEqual({ is: 'left', charges: 8n })
    expect(await ledger.broken()).toEqual([])
  })

  /** The cabinet that shows the ledger. */
  async function pagesOf({
    pool,
    databaseUrl,
    through,
    customer,
  }: Awaited<ReturnType<typeof ledgerOfThisTest>>) {
    const asCabinet = createPool({
      databaseUrl: urlAs('model_gateway_cabinet', databaseUrl),
      applicationName: 'cabinet of the test',
    })
    onTestFinished(() => asCabinet.end())
    const archive = openArchive(through, { timeoutMs: 3_000 })
    onTestFinished(() => archive.close())
    const { cookie } = await signedIn(pool, { organizationId: customer.organizationId })
    const app = buildApp({
      sessions: userSessions(asCabinet),
      metrics: createWebMetrics(),
      endpoints: ledgerEndpoints({ pool: asCabinet, archive, readLiveSums: async () => undefined }),
      trustedProxies: [],
      appOrigin: 'http://localhost',
      ...unthrottled,
      log,
    })
    onTestFinished(() => app.close())
    const get = (path: string, query: Readonly<Record<string, string>> = {}) =>
      app.inject({ url: `/api/v1${path}`, query, headers: { cookie, 'sec-fetch-site': 'same-origin' } })
    return {
      get,
      /** All pages of the list, joined. */
      async listAll(query: Readonly<Record<string, string>>) {
        const rows: unknown[] = []
        for (let cursor: string | null = ''; cursor !== null; ) {
          const response = await get('/ledger', {
            ...query,
            limit: '3',
            ...(cursor === '' ? {} : { cursor }),
          })
          expect(response.statusCode).toBe(200)
          rows.push(...response.json().data)
          cursor = response.json().next_cursor
        }
        return rows
      },
    }
  }

  test.each([1, 4])('pages and exports of %i lanes are the same after a month left', async (lanes) => {
    const ledger = await ledgerOfThisTest({ lanes, monthsLeft: 2 })
    const { get, listAll } = await pagesOf(ledger)
    const [first, second] = ledger.months.map(({ fromMs }) => new Date(fromMs).toISOString())
    const queries = [
      {},
      { kind: 'charge' },
      { kind: 'adjustment' },
      { from: first ?? '', to: second ?? '' },
      { from: second ?? '' },
    ]
    const everything = async () => ({
      lists: await Promise.all(queries.map(listAll)),
      csv: (await get('/ledger.csv')).body,
    })
    const before = await everything()
    expect(before.lists.map(({ length }) => length)).toEqual([16, 12, 3, 9, 7])
    await ledger.leaveOldest()
    expect(await everything()).toEqual(before)
    await ledger.leaveOldest()
    expect(await everything()).toEqual(before)
    expect(await ledger.charges()).toMatchObject({ old: 0 })
  })

  test('while ClickHouse is unavailable, only places that need archived charges are, and the response names the reason', async () => {
    const ledger = await ledgerOfThisTest()
    const { get } = await pagesOf(ledger)
    const before = (await get('/ledger')).json().data
    await ledger.leaveOldest()
    ledger.gate.shut()
    const today = { from: new Date(Date.now() - 86_400_000).toISOString() }
    const endOfMonth = new Date(ledger.months[1].fromMs).toISOString()
    expect((await get('/ledger', today)).json().data).toHaveLength(2)
    expect((await get('/ledger', { kind: 'adjustment' })).json().data).toHaveLength(3)
    expect((await get('/ledger.csv', today)).statusCode).toBe(200)
    const page = (await get('/ledger', { limit: '5' })).json()
    expect(page.data.length).toBeGreaterThan(0)
    expect(page.data).toEqual(before.slice(0, page.data.length))
    for (const path of [
      `/ledger?cursor=${page.next_cursor}`,
      `/ledger?kind=charge&to=${endOfMonth}`,
      '/ledger.csv',
    ]) {
      const response = await get(path)
      expect([response.statusCode, response.json().code], path).toEqual([503, 'older_requests_unavailable'])
    }
    ledger.gate.open()
    expect((await get('/ledger')).json().data).toEqual(before)
  })

  test('a late charge that left makes no page unavailable but the ones of its place and of its month', async () => {
    const ledger = await ledgerOfThisTest()
    const { get } = await pagesOf(ledger)
    await ledger.leaveOldest()
    const page = async (cursor: string | null) => {
      const place = cursor === null ? {} : { cursor }
      const response = await get('/ledger', { kind: 'charge', limit: '1', ...place })
      return { status: response.statusCode, body: response.json() }
    }
    const cursors: (string | null)[] = [null]
    const available = [await page(null)]
    for (
      let next = available[0]?.body.next_cursor;
      next !== null;
      next = available.at(-1)?.body.next_cursor
    ) {
      cursors.push(next)
      available.push(await page(next))
    }
    expect(available.every(({ status }) => status === 200)).toBe(true)
    ledger.gate.shut()
    const found = []
    for (const cursor of cursors) found.push(await page(cursor))
    const statuses = found.map(({ status }) => status)
    const firstMissing = statuses.indexOf(503)
    expect(firstMissing).toBeGreaterThan(0)
    expect(statuses.slice(firstMissing)).toContain(200) // charges that are older than the late one, and of a later month
    for (const [n, { status, body }] of found.entries())
      if (status === 200) expect(body.data).toEqual(available[n]?.body.data)
  })
})
