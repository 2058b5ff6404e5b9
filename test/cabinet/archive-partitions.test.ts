import { pino } from 'pino'
import { Registry } from 'prom-client'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { archiveJobs, leaveJob } from '#core/archive/archive-job'
import { openArchive } from '#core/archive/archive-store'
import { verifyArchived } from '#core/archive/internal/verify'
import { createPool } from '#core/db/pool'
import { lookAtBooks } from '#core/ledger/internal/look-at-books'
import { checkInvariants } from '#core/ledger/invariants'
import { type BatchEntry, postBatch } from '#core/ledger/post-batch'
import { clickHouseOfThisFile } from '../support/clickhouse.ts'
import { createCustomer, entryOf, recordOf, takenBack, uuidV7 } from '../support/customer.ts'
import { makeOldPartitions, type OldMonth } from '../support/old-partitions.ts'
import { createDatabase, urlAs } from '../support/postgres.ts'
import { runJob } from '../support/run-job.ts'
import { gateOfThisTest } from '../support/tcp-gate.ts'

const log = pino({ level: 'silent' })
const swept = recordOf({ outcome: 'swept', usageSource: 'none', tokens: { input: 100, output: 20 } })

const oldServer = await clickHouseOfThisFile('server 18.16')
const newEngine = await clickHouseOfThisFile('engine 26.9')

describe.each([oldServer, newEngine])('with ClickHouse $form', (clickHouse) => {
  /** A database with three old months, a customer, and the jobs of the archive. */
  async function archiveOfThisTest(options: { readonly port?: number } = {}) {
    const database = await createDatabase()
    onTestFinished(() => database[Symbol.asyncDispose]())
    const months = await makeOldPartitions(database.pool)
    const customer = await createCustomer(database.pool, { balanceNano: 10n ** 12n })
    const url = await clickHouse.createDatabase()
    const through = new URL(url)
    if (options.port !== undefined) through.port = String(options.port)
    const store = openArchive(through.href)
    onTestFinished(() => store.close())
    await store.create()
    const pool = createPool({
      databaseUrl: urlAs('model_gateway_worker', database.url),
      applicationName: 'archive-test',
      connectionCountMax: 4,
    })
    onTestFinished(() => pool.end())
    const registry = new Registry()
    const [, copy] = archiveJobs({ pool, registry, log }, store)
    const leaving = leaveJob({ pool, store, keptDays: 35, registry, log, attemptsMax: 2 })
    const look = async () => (await lookAtBooks(pool))?.breaches.filter(({ breachCount }) => breachCount > 0)
    return {
      database,
      customer,
      url,
      months,
      registry,
      look,
      post: (entries: readonly BatchEntry[]) => postBatch(pool, entries),
      copyAll: async () => {
        while ((await runJob(copy)) === 'more');
      },
      leave: () => runJob(leaving),
      entriesOf: ({ fromMs }: OldMonth, count = 5) =>
        Array.from({ length: count }, (_, n) =>
          entryOf(customer, BigInt(n), { requestId: uuidV7(fromMs + n * 90_000_000), record: swept }),
        ),
      partitions: async () =>
        (
          await database.pool.query('select name from request_partitions() where to_at < now() order by 1')
        ).rows.map(({ name }) => name),
      left: async () =>
        (await database.pool.query('select name, requests::int from archived_partitions order by 1')).rows,
      broken: async () =>
        (await checkInvariants(database.pool))
          .filter(({ breachCount }) => breachCount > 0)
          .map(({ name }) => name),
      verified: async () => {
        const found: string[] = []
        for await (const { differing } of verifyArchived(database.pool, store))
          found.push(differing.join(' '))
        return found
      },
    }
  }

  test('a month leaves Postgres, and every balance is still proven', async () => {
    const { months, post, entriesOf, copyAll, look, leave, left, broken, verified, database, customer } =
      await archiveOfThisTest()
    const [first, second] = months
    const old = entriesOf(first)
    await post([...old, ...entriesOf(second, 3), entryOf(customer, 2n, { record: swept })])
    await post([takenBack(old[3] ?? entryOf(customer, 0n))])
    await copyAll()
    expect(await look()).toEqual([])
    expect([await leave(), await leave(), await leave(), await leave()]).toEqual([
      'more',
      'more',
      'more',
      'idle',
    ])
    expect(await left()).toEqual([
      { name: `requests_${first.suffix}`, requests: 5 },
      { name: `requests_${second.suffix}`, requests: 3 },
      { name: `requests_${months[2].suffix}`, requests: 0 },
    ])
    expect((await database.pool.query('select count(*)::int as count from requests')).rows).toEqual([
      { count: 1 },
    ])
    expect(await verified()).toEqual(['', '', ''])
    expect(await broken()).toEqual([])
    expect(await look()).toEqual([])
    const { rows } = await database.pool.query('select first_request_at from organizations where id = $1', [
      customer.organizationId,
    ])
    expect(rows).toEqual([{ first_request_at: new Date(first.fromMs) }])
    await database.pool.query('select ensure_partitions(3)')
    expect(await left()).toHaveLength(3)
  })

  test('what comes late for a month that left is rejected, also what is known there', async () => {
    const { months, post, entriesOf, copyAll, look, leave, broken, database } = await archiveOfThisTest()
    const [known, late] = entriesOf(months[0])
    if (known === undefined || late === undefined) throw new Error('no entries')
    await post([known])
    await copyAll()
    await look()
    await leave()
    for (const entry of [known, takenBack(known), late])
      await expect(post([entry])).rejects.toMatchObject({
        code: '22023',
        message: expect.stringContaining('archived'),
      })
    expect((await database.pool.query('select from requests_default')).rows).toEqual([])
    expect(await broken()).toEqual([])
  })

  test('a changed sum of a month that left is found, in Postgres and in ClickHouse', async () => {
    const { months, post, entriesOf, copyAll, look, leave, broken, verified, database, url } =
      await archiveOfThisTest()
    await post(entriesOf(months[0]))
    await copyAll()
    await look()
    await leave()
    const add = (table: string, input: number) =>
      database.pool.query(`update ${table} set input = input + $2 where hour = $1`, [
        new Date(months[0].fromMs),
        input,
      ])
    const ofMonth = 'archived_partition_is_its_sums'
    const ofUsage = 'usage_is_sum_of_requests'
    // The whole audit also compares sums by provider with those of all.
    for (const [table, whole, looked] of [
      ['usage_hourly', [ofUsage, ofMonth], [ofMonth]],
      ['usage_by_provider', [ofUsage], []],
    ] as const) {
      await add(table, 1)
      expect(await broken()).toEqual(whole)
      expect((await look())?.map(({ name }) => name)).toEqual(looked)
      await add(table, -1)
      expect(await look()).toEqual([])
    }
    await clickHouse.query(url, changeOne)
    expect(await verified()).toEqual(['cost digest1 digest2'])
  })

  test('a month of which one row differs stays, is named, and opens when the archive is stopped', async () => {
    const { months, post, entriesOf, copyAll, look, leave, left, partitions, registry, database, url } =
      await archiveOfThisTest()
    await post(entriesOf(months[0]))
    await copyAll()
    await look()
    await clickHouse.query(url, changeOne)
    const before = await partitions()
    expect(await leave()).toBe('idle')
    expect(await left()).toEqual([])
    expect(await partitions()).toEqual(before)
    expect(await registry.metrics()).toContain('model_gateway_archive_partition_differs 1\n')
    const [late] = entriesOf(months[0])
    if (late === undefined) throw new Error('no entries')
    await expect(post([late])).rejects.toThrow('archived')
    await database.pool.query('select stop_archive()')
    await post([late])
  })

  test('a month waits until all of it is copied and audited, and while it is written', async () => {
    const { months, post, entriesOf, copyAll, look, leave, left, database } = await archiveOfThisTest()
    const [one, two] = entriesOf(months[0])
    if (one === undefined || two === undefined) throw new Error('no entries')
    await copyAll()
    await post([one])
    const writing = await database.pool.connect()
    await writing.query('begin')
    await postBatch(writing, [two])
    await expect(leave()).rejects.toThrow('lock timeout')
    await writing.query('commit')
    writing.release()
    expect(await leave()).toBe('idle') // not copied
    await copyAll()
    expect(await leave()).toBe('idle') // not audited
    await look()
    expect(await leave()).toBe('more')
    expect(await left()).toEqual([{ name: `requests_${months[0].suffix}`, requests: 2 }])
  })

  test('a month that is read stays, without a count of its rows, and leaves after a backup and an audit', async () => {
    const { months, post, entriesOf, copyAll, look, leave, left, database } = await archiveOfThisTest()
    await post(entriesOf(months[0]))
    await copyAll()
    await look()
    const reading = await database.pool.connect()
    onTestFinished(() => reading.release(true))
    await reading.query('set idle_in_transaction_session_timeout = 0')
    await reading.query('begin')
    await reading.query('select from requests limit 1')
    expect(await leave()).toBe('idle')
    const withWrongSums = `select leave_request_partition('requests_${months[0].suffix}', 0, 0, 0, 0, 0)`
    await expect(database.pool.query(withWrongSums)).rejects.toMatchObject({ code: '55P03' })
    await reading.query('commit')
    await expect(database.pool.query(withWrongSums)).rejects.toMatchObject({ code: '55000' })
    await reading.query('begin')
    await reading.query('select pg_advisory_xact_lock($1)', [0x6d67_0004]) // as a full audit does
    expect(await leave()).toBe('idle')
    await expect(database.pool.query(withWrongSums)).rejects.toMatchObject({ code: '55P03' })
    expect(await left()).toEqual([])
    await reading.query('commit')
    expect(await leave()).toBe('more')
    expect(await left()).toEqual([{ name: `requests_${months[0].suffix}`, requests: 5 }])
  })

  test('without ClickHouse nothing leaves, and a removal that was cut off is repeated', async () => {
    const gate = await gateOfThisTest(clickHouse.port)
    const { months, post, entriesOf, copyAll, look, leave, left, partitions, verified } =
      await archiveOfThisTest({
        port: gate.port,
      })
    await post(entriesOf(months[0]))
    await copyAll()
    await look()
    const before = await partitions()
    gate.holdAnswers()
    const cut = leave()
    cut.catch(() => undefined)
    await vi.waitFor(() => gate.cut())
    gate.shut()
    await expect(cut).rejects.toThrow('ClickHouse failed')
    await expect(leave()).rejects.toThrow('ClickHouse failed')
    expect(await left()).toEqual([])
    expect(await partitions()).toEqual(before)
    gate.letAnswersPass()
    gate.open()
    expect(await leave()).toBe('more')
    expect(await verified()).toEqual([''])
  })

  const rest =
    'model, outcome, input, cached_input, cache_write, output, reasoning, posted_at, updated_at, record'
  const changeOne = `insert into requests select organization_id, ts, id, version, api_key_id, cost + 1, day, ${rest} from requests limit 1`
})
