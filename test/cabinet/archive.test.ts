import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { archiveJobs } from '#core/archive/archive-job'
import { type ArchiveStore, openArchive } from '#core/archive/archive-store'
import type { Difference } from '#core/archive/internal/compare'
import { verifyArchive } from '#core/archive/internal/verify'
import { createPool } from '#core/db/pool'
import { type BatchEntry, postBatch } from '#core/ledger/post-batch'
import { clickHouseOfThisFile } from '../support/clickhouse.ts'
import { createCustomer, entryOf, recordOf, takenBack, uuidV7 } from '../support/customer.ts'
import { inheritedEnvironment } from '../support/environment.ts'
import { createDatabase, urlAs } from '../support/postgres.ts'
import { gateOfThisTest } from '../support/tcp-gate.ts'

const run = promisify(execFile)
const log = pino({ level: 'silent' })
const command = join(import.meta.dirname, '../../core/archive/main.ts')

const oldServer = await clickHouseOfThisFile('server 18.16')
const newEngine = await clickHouseOfThisFile('engine 26.9')

describe.each([oldServer, newEngine])('with ClickHouse $form', (clickHouse) => {
  /** A database with a customer, an archive with its table, and the worker's job. */
  async function archiveOfThisTest(
    options: { readonly port?: number; readonly isCreated?: boolean; readonly lockIdleMs?: number } = {},
  ) {
    const database = await createDatabase()
    onTestFinished(() => database[Symbol.asyncDispose]())
    const customer = await createCustomer(database.pool, { balanceNano: 10n ** 12n })
    const url = await clickHouse.createDatabase()
    const direct = openArchive(url)
    if (options.isCreated !== false) await direct.create()
    const through = new URL(url)
    if (options.port !== undefined) through.port = String(options.port)
    const pool = createPool({
      databaseUrl: urlAs('model_gateway_worker', database.url),
      applicationName: 'archive-test',
      connectionCountMax: 3,
    })
    onTestFinished(() => pool.end())
    const open = (store: ArchiveStore, lock: { readonly lockIdleMs?: number } = {}) => {
      onTestFinished(() => store.close())
      const registry = new Registry()
      const [measure, copy] = archiveJobs({ pool, registry, log, ...lock }, store)
      if (measure === undefined || copy === undefined) throw new Error('jobs are missing')
      const once = (ending = AbortSignal.any([])) => copy.run(AbortSignal.any([]), ending)
      return {
        once,
        async all() {
          while ((await once()) === 'more');
        },
        async metrics() {
          await measure.run(AbortSignal.any([]), AbortSignal.any([]))
          return registry.metrics()
        },
      }
    }
    onTestFinished(() => direct.close())
    const job = open(openArchive(through.href), options)
    const otherJob = () => open(openArchive(url))
    const post = (entries: readonly BatchEntry[]) => postBatch(pool, entries)
    const rows = async () =>
      (
        await clickHouse.query(
          url,
          'select toString(id), toString(cost), outcome from requests final order by toString(id) format TSV',
        )
      )
        .split('\n')
        .filter(Boolean)
    const verify = async () => {
      const found: Difference[] = []
      for await (const { differences } of verifyArchive(database.pool, direct)) found.push(...differences)
      return found
    }
    const waiting = async () =>
      (await database.pool.query('select count(*)::int from archive_outbox')).rows[0]?.count
    return { database, customer, url, direct, job, otherJob, post, rows, verify, waiting }
  }

  const rowOf = (entry: BatchEntry) => `${entry.requestId}\t${entry.costNano}\t${entry.record.outcome}`

  /** A copy of one new request that ClickHouse has and does not confirm while the gate holds its answers. */
  async function holdCopy(
    gate: Awaited<ReturnType<typeof gateOfThisTest>>,
    { customer, job, post, rows }: Awaited<ReturnType<typeof archiveOfThisTest>>,
    ending?: AbortSignal,
  ) {
    await job.all()
    const entry = entryOf(customer, 7n)
    await post([entry])
    gate.holdAnswers()
    const copied = job.once(ending)
    await vi.waitFor(async () => expect(await rows()).toEqual([rowOf(entry)]), { timeout: 10_000 })
    return { entry, copied }
  }

  test('every request is archived once, in its latest version, also those from before the start', async () => {
    const { customer, job, post, rows, verify, waiting, database } = await archiveOfThisTest()
    const odd = recordOf({ modelAsked: 'Ünïcode \\ "quoted"\n\t🙂 |', droppedParameters: ['a|b', "it's"] })
    const month = 31 * 86_400_000
    const entries = Array.from({ length: 30 }, (_, n) =>
      entryOf(customer, BigInt(n), {
        requestId: uuidV7(Date.now() - (n % 2) * month),
        ...(n === 7 ? { record: odd } : {}),
      }),
    )
    await post(entries.slice(0, 15))
    await job.all()
    await post(entries.slice(15))
    const corrected = [entries[3], entries[20]].flatMap((entry) =>
      entry === undefined ? [] : takenBack(entry),
    )
    await job.all()
    await post(corrected)
    await job.all()
    const latest = entries.map(
      (entry) => corrected.find(({ requestId }) => requestId === entry.requestId) ?? entry,
    )
    expect(await rows()).toEqual(latest.map(rowOf).sort())
    expect(await verify()).toEqual([])
    expect(await waiting()).toBe(0)
    const { rows: state } = await database.pool.query('select noted_at is not null as "isDone" from archive')
    expect(state).toEqual([{ isDone: true }])
  })

  test('a copy whose confirmation is lost is repeated, with what was corrected in the meantime', async () => {
    const gate = await gateOfThisTest(clickHouse.port)
    const archive = await archiveOfThisTest({ port: gate.port })
    const { job, post, rows, verify, waiting } = archive
    const ending = new AbortController()
    const { entry, copied } = await holdCopy(gate, archive, ending.signal)
    await post([takenBack(entry)])
    ending.abort()
    await expect(copied).rejects.toThrow('ClickHouse failed')
    expect(await waiting()).toBe(2)
    gate.cut()
    gate.letAnswersPass()
    await job.all()
    expect(await rows()).toEqual([rowOf(takenBack(entry))])
    expect(await verify()).toEqual([])
    expect(await waiting()).toBe(0)
  })

  test('what is corrected while it is copied is copied again', async () => {
    const gate = await gateOfThisTest(clickHouse.port)
    const archive = await archiveOfThisTest({ port: gate.port })
    const { job, post, rows, verify, waiting } = archive
    const { entry, copied } = await holdCopy(gate, archive)
    await post([takenBack(entry)])
    gate.letAnswersPass()
    await copied
    await job.all()
    expect(await rows()).toEqual([rowOf(takenBack(entry))])
    expect(await verify()).toEqual([])
    expect(await waiting()).toBe(0)
  })

  test('a worker that is frozen while it copies does not keep others from copying', async () => {
    const gate = await gateOfThisTest(clickHouse.port)
    const archive = await archiveOfThisTest({ port: gate.port, lockIdleMs: 1_000 })
    const { otherJob, post, rows, waiting } = archive
    const other = otherJob()
    const { entry, copied: frozen } = await holdCopy(gate, archive)
    await vi.waitFor(
      async () => {
        await other.all()
        expect(await waiting()).toBe(0)
      },
      { timeout: 10_000 },
    )
    gate.letAnswersPass()
    await expect(frozen).rejects.toThrow()
    await post([takenBack(entry)])
    await other.all()
    expect(await rows()).toEqual([rowOf(takenBack(entry))])
  })

  test('requests that are posted and copied between the reads of both sides are no difference', async () => {
    const { customer, job, post, direct, database, rows } = await archiveOfThisTest()
    const at = Date.now()
    const entries = Array.from({ length: 5 }, (_, n) =>
      entryOf(customer, BigInt(n), { requestId: uuidV7(at) }),
    )
    await post(entries.slice(0, 1))
    await job.all()
    let posted = 1
    const overtaken: ArchiveStore = {
      ...direct,
      async read(sql, row) {
        if (sql.includes(' final ') && posted < entries.length) {
          await post(entries.slice(posted, ++posted))
          await job.all()
        }
        return direct.read(sql, row)
      },
    }
    for await (const { differences } of verifyArchive(database.pool, overtaken))
      expect(differences).toEqual([])
    expect(await rows()).toHaveLength(entries.length)
  })

  test('while ClickHouse is unavailable, requests are posted and wait, and metrics show it', async () => {
    const gate = await gateOfThisTest(clickHouse.port)
    const { customer, job, post, verify, waiting } = await archiveOfThisTest({ port: gate.port })
    await job.all()
    gate.shut()
    await post([entryOf(customer, 1n)])
    await expect(job.once()).rejects.toThrow('ClickHouse failed')
    await post([entryOf(customer, 2n), entryOf(customer, 3n)])
    expect(await waiting()).toBe(2)
    const metrics = await job.metrics()
    expect(metrics).toContain('model_gateway_archive_waiting 3\n')
    expect(metrics).toContain('model_gateway_archive_failing 1\n')
    expect(await verify()).toEqual([]) // they wait: that is no difference
    gate.open()
    await job.all()
    expect(await verify()).toEqual([])
    expect(await job.metrics()).toContain('model_gateway_archive_failing 0\n')
  })

  test('a table that is missing or different is rejected in one sentence, and nothing is noted', async () => {
    const { customer, url, job, post, waiting } = await archiveOfThisTest({ isCreated: false })
    const reject = (sentence: string) => expect(job.once()).rejects.toThrow(sentence)
    await reject('has no table requests: run `npm run archive -- create`.')
    await clickHouse.query(url, 'create table requests (id UUID) engine = MergeTree() order by id')
    await reject('Table requests in ClickHouse is not a ReplacingMergeTree(version)')
    await clickHouse.query(url, 'drop table requests')
    const columns = 'organization_id UUID, ts Int64, id UUID, version Int16, cost Int32'
    await clickHouse.query(
      url,
      `create table requests (${columns}) engine = ReplacingMergeTree(version) order by (organization_id, ts, id)`,
    )
    await reject('has other columns than this release (api_key_id, cost, day)')
    await post([entryOf(customer, 1n)])
    expect(await waiting()).toBe(0)
  })

  test('the command creates the table, names a changed row and a lost one, and stops the archive', async () => {
    const { customer, database, url, job, post } = await archiveOfThisTest({ isCreated: false })
    const archive = (...words: string[]) =>
      run(process.execPath, [command, ...words], {
        env: {
          ...inheritedEnvironment,
          DATABASE_URL: database.url,
          ...(words[0] === 'stop' ? {} : { CLICKHOUSE_URL: url }),
        },
      })
    await expect(archive('verify')).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('has no table requests'),
    })
    expect((await archive('create')).stdout).toContain('The tables are ready.')
    const [changed, lost, other] = [entryOf(customer, 5n), entryOf(customer, 6n), entryOf(customer, 7n)]
    await post([changed, lost, other])
    await job.all()
    expect((await archive('verify')).stdout).toMatch(/^\d{4}-\d\d: equal\n$/)
    const rest =
      'model, outcome, input, cached_input, cache_write, output, reasoning, posted_at, updated_at, record'
    await clickHouse.query(
      url,
      `insert into requests select organization_id, ts, id, 99, api_key_id, cost + 1, day, ${rest} from requests
        where id = toUUID('${changed.requestId}')`,
    )
    await database.pool.query('delete from requests where id = $1', [lost.requestId])
    await expect(archive('verify')).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/: differs\n/),
    })
    const { stdout } = await archive('verify').catch((error: { stdout: string }) => error)
    expect(stdout).toContain(`request ${changed.requestId}: different (version, cost)`)
    expect(stdout).toContain(`request ${lost.requestId}: missing in Postgres`)
    expect(stdout).not.toContain(other.requestId)
    await expect(archive('ledger', '2020-01')).rejects.toMatchObject({
      code: 1,
      stderr: 'The ledger has no charges of 2020-01, or it ended less than 13 months ago.\n',
    })
    for (const wrong of [['ledger'], ['ledger', '2020-13'], ['verify', '2020-01']])
      await expect(archive(...wrong)).rejects.toMatchObject({
        code: 2,
        stderr: expect.stringContaining('Usage'),
      })
    expect((await archive('stop')).stdout).toContain('Archiving is stopped.')
    await post([entryOf(customer, 1n)])
    const { rows } = await database.pool.query('select from archive_outbox')
    expect(rows).toEqual([])
  })
})
