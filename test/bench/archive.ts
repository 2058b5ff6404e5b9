import { createHash, randomUUID } from 'node:crypto'
import { parseArgs } from 'node:util'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { z } from 'zod'
import { requestEndpoints } from '#cabinet/billing/request-endpoints'
import { userSessions } from '#cabinet/web/internal/api/caller'
import { buildApp } from '#cabinet/web/internal/app'
import { createWebMetrics } from '#cabinet/web/metrics'
import { archiveJobs, leaveJob } from '#core/archive/archive-job'
import { openArchive } from '#core/archive/archive-store'
import { migrate } from '#core/db/migrate'
import { createPool } from '#core/db/pool'
import { lookAtBooks } from '#core/ledger/internal/look-at-books'
import { postBatch } from '#core/ledger/post-batch'
import { startClickHouse } from '../support/clickhouse-server.ts'
import { entryOf, recordOf } from '../support/customer.ts'
import { unthrottled } from '../support/no-throttles.ts'
import { urlAs } from '../support/postgres.ts'
import { runJob } from '../support/run-job.ts'
import { signedIn } from '../support/signed-in.ts'
import { startSystemPostgres } from '../support/system-postgres.ts'
import { readCpuMs } from './accounting.ts'
import { type ManyRequests, makeManyRequests } from './archived-rows.ts'

/**
 * `node test/bench/archive.ts --rows 600000`: what a request takes in the archive and to get there, how long its pages take
 * from there, and whether they are the same as before. Half of the requests leave Postgres. docs/contribute/measurements.md has
 * the results.
 */
const { rows, form } = z
  .object({
    rows: z.coerce.number().int().positive().default(600_000),
    form: z.enum(['server 18.16', 'engine 26.9']).default('engine 26.9'),
  })
  .parse(parseArgs({ options: { rows: { type: 'string' }, form: { type: 'string' } } }).values)
const log = pino({ level: 'silent' })
const registry = new Registry()
/** Rounds of charges and copies, by turns. */
const rounds = 6
const batchesOfRound = 25
const batchCount = 200
/** Places that pages are read from, and receipts, before and after. */
const placeCount = 100
const pageLimit = '100'
const timedCalls = 40
const rowsOfMonth = 1_000_000

const postgres = await startSystemPostgres()
const clickHouse = await startClickHouse(form)
const timeouts = { statementTimeoutMs: 3_600_000 }
const pool = createPool({ databaseUrl: postgres.url, applicationName: 'bench', ...timeouts })
await migrate(pool)
const asWorker = {
  databaseUrl: urlAs('model_gateway_worker', postgres.url),
  connectionCountMax: 1,
  ...timeouts,
}
const posting = createPool({ ...asWorker, applicationName: 'bench-poster' })
const copying = createPool({ ...asWorker, applicationName: 'bench-copier' })
const cabinet = createPool({
  databaseUrl: urlAs('model_gateway_cabinet', postgres.url),
  applicationName: 'bench-cabinet',
  connectionCountMax: 1,
})
const clickHouseUrl = await clickHouse.createDatabase()
const store = openArchive(clickHouseUrl, { timeoutMs: 600_000 })
await store.create()

const say = (figures: object) => void process.stdout.write(`${JSON.stringify(figures)}\n`)
const app = buildApp({
  sessions: userSessions(cabinet),
  metrics: createWebMetrics(),
  endpoints: requestEndpoints({ pool: cabinet, archive: store }),
  trustedProxies: [],
  appOrigin: 'http://localhost',
  ...unthrottled,
  log,
})
try {
  const startedMs = performance.now()
  const many = await makeManyRequests(pool, rows)
  say({ rows, madeS: secondsSince(startedMs) })
  const { cookie } = await signedIn(pool, { organizationId: many.large.organizationId })
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  const get = (path: string) =>
    fetch(`${address}/api/v1${path}`, { headers: { cookie, 'sec-fetch-site': 'same-origin' } })
  const places = placesOf(many)
  say({ copied: await copyAll() })
  say({ round: await measureRounds(many) })
  say({ bytes: await measureBytes() })
  const before = await readEverything(get, places)
  const timedBefore = await timePages(get, before.ids, many.old.toMs)
  await letLeave()
  const after = await readEverything(get, places)
  const changed = after.hashes.filter((hash, n) => hash !== before.hashes[n]).length
  say({ places: before.hashes.length, csvBytes: before.csvBytes, changed, ids: before.ids.length })
  say({ inPostgres: timedBefore, inArchive: await timePages(get, before.ids, many.old.toMs) })
  say({ month: await timeMonth(many) })
  if (changed > 0) process.exitCode = 1
} finally {
  await app.close()
  await store.close()
  await Promise.all([pool, posting, copying, cabinet].map((each) => each.end()))
  await clickHouse[Symbol.asyncDispose]()
  await postgres[Symbol.asyncDispose]()
}

function secondsSince(startedMs: number): number {
  return Math.round((performance.now() - startedMs) / 100) / 10
}

type Get = (path: string) => Promise<Response>

/** Processor time of this process, the session in Postgres and ClickHouse, in µs for each of `count` rows. */
async function cpuOf(session: typeof posting, count: () => Promise<number>) {
  const { rows: found } = await session.query<{ pid: number }>('select pg_backend_pid() as pid')
  const pid = found[0]?.pid ?? 0
  const read = () => [
    process.cpuUsage().user + process.cpuUsage().system,
    readCpuMs(pid) * 1_000,
    readCpuMs(clickHouse.pid) * 1_000,
  ]
  const from = read()
  const done = await count()
  const [client, postgresUs, clickHouseUs] = read().map((us, n) => Math.round((us - (from[n] ?? 0)) / done))
  return { rows: done, client, postgres: postgresUs, clickHouse: clickHouseUs }
}

/** Copies what waits. */
function copyAll() {
  const job = archiveJobs({ pool: copying, registry: new Registry(), log }, store)[1]
  return cpuOf(copying, async () => {
    const count = async () => Number(await clickHouse.query(clickHouseUrl, 'select count() from requests'))
    const before = await count()
    while ((await runJob(job)) === 'more');
    return (await count()) - before
  })
}

/** A session has posted batches before: the first ones plan. */
async function measureRounds({ large, price }: ManyRequests) {
  const charge = () => {
    const record = recordOf({
      modelRan: 'bench/large',
      priceId: price.id,
      tokens: { input: 100, output: 20 },
    })
    return entryOf(large, 1_600_000n, { record })
  }
  const all = []
  for (let round = 0; round < rounds; round++) {
    const posted = await cpuOf(posting, async () => {
      for (let n = 0; n < batchesOfRound; n++)
        await postBatch(posting, Array.from({ length: batchCount }, charge))
      return batchesOfRound * batchCount
    })
    all.push({ posted, copied: await copyAll() })
  }
  return all.slice(1)
}

async function measureBytes() {
  const sizes = async () =>
    (
      await clickHouse.query(
        clickHouseUrl,
        `select sum(rows), sum(bytes_on_disk) / sum(rows) from system.parts
          where active and database = currentDatabase() and table = 'requests' format TSV`,
      )
    ).trim()
  const asWritten = await sizes()
  await clickHouse.query(clickHouseUrl, 'optimize table requests final')
  const { rows: kept } = await pool.query<{ bytes: number }>(
    `select (pg_total_relation_size('requests_default') + sum(pg_total_relation_size(i.inhrelid))) / ${rows} as bytes
       from pg_inherits i where i.inhparent = 'requests'::regclass`,
  )
  const columns = await clickHouse.query(
    clickHouseUrl,
    `select column, sum(column_bytes_on_disk) / sum(rows) as bytes from system.parts_columns
      where active and database = currentDatabase() and table = 'requests' group by column order by bytes desc limit 8 format TSV`,
  )
  return {
    asWritten,
    merged: await sizes(),
    inPostgres: Number(kept[0]?.bytes),
    columns: columns.trim().split('\n'),
  }
}

/** Cursors at random times, and where both spans meet. */
function placesOf({ old, recent }: ManyRequests): readonly string[] {
  const times = Array.from({ length: placeCount }, (_, n) => {
    const { fromMs, toMs } = n % 2 === 0 ? old : recent
    return fromMs + Math.random() * (toMs - fromMs)
  })
  return [...times, recent.fromMs + 500, recent.toMs].map((ms) => new Date(ms).toISOString())
}

async function readEverything(get: Get, places: readonly string[]) {
  const hashes: string[] = []
  const ids: string[] = []
  const pageSchema = z.object({
    data: z.array(z.looseObject({ id: z.string() })),
    next_cursor: z.string().nullable(),
  })
  const filters = ['', '&model=bench/coder', '&outcome=upstream_disconnected', '&provider=demo']
  for (const [n, to] of places.entries()) {
    const page = `/requests?to=${to}&limit=${pageLimit}${filters[n % filters.length]}`
    const read = async (cursor: string) => pageSchema.parse(await (await get(`${page}${cursor}`)).json())
    const first = await read('')
    const second = first.next_cursor === null ? undefined : await read(`&cursor=${first.next_cursor}`)
    hashes.push(hashOf(JSON.stringify([first.data, second?.data])))
    const id = first.data.at(-1)?.id
    if (id === undefined) continue
    ids.push(id)
    hashes.push(hashOf(await (await get(`/requests/${id}`)).text()))
  }
  const csv = await get('/requests.csv')
  const hash = createHash('sha256')
  let csvBytes = 0
  for await (const chunk of csv.body ?? []) {
    hash.update(chunk)
    csvBytes += chunk.length
  }
  return { hashes: [...hashes, hash.digest('hex')], ids, csvBytes }
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** The last 50 of a month, and receipts: half and 95 % of calls took at most so many ms, and a call so much processor time. */
async function timePages(get: Get, ids: readonly string[], toMs: number) {
  const time = async (path: (n: number) => string) => {
    const taken: number[] = []
    const readAll = () => [readCpuMs(process.pid), readCpuMs(clickHouse.pid)]
    const cpuFrom = readAll()
    for (let n = 0; n < timedCalls; n++) {
      const startedMs = performance.now()
      const response = await get(path(n))
      await response.text()
      if (response.status !== 200) throw new Error(`${path(n)}: ${response.status}`)
      taken.push(performance.now() - startedMs)
    }
    const [client, clickHouseMs] = readAll().map((ms, n) => Math.round((ms - (cpuFrom[n] ?? 0)) / timedCalls))
    return { ms: quantiles(taken), cpuMs: { client, clickHouse: clickHouseMs } }
  }
  const old = ids.filter((id) => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16) < toMs)
  return {
    last50: await time(() => `/requests?to=${new Date(toMs).toISOString()}&limit=50`),
    receipt: await time((n) => `/requests/${old[n % old.length]}`),
  }
}

function quantiles(taken: number[]): readonly number[] {
  taken.sort((a, b) => a - b)
  return [0.5, 0.95].map((part) => Math.round((taken[Math.floor(part * taken.length)] ?? 0) * 10) / 10)
}

async function letLeave(): Promise<void> {
  const startedMs = performance.now()
  while (
    (await lookAtBooks(pool)) !== undefined &&
    (await pool.query('select from unchecked_requests limit 1')).rows.length > 0
  );
  const leave = leaveJob({ pool: copying, store, keptDays: 35, registry, log })
  while ((await runJob(leave)) === 'more');
  const { rows: left } = await pool.query<{ requests: bigint }>(
    'select sum(requests)::bigint as requests from archived_partitions',
  )
  say({ left: Number(left[0]?.requests), leftS: secondsSince(startedMs) })
}

/** A month of a million requests by day, key and model; with `final` as the documentation has it. */
async function timeMonth({ old }: ManyRequests) {
  const organization = `toUUID('${randomUUID()}')`
  const ts = `${old.fromMs} + intDiv(number * ${old.toMs - old.fromMs}, ${rowsOfMonth})`
  await clickHouse.query(
    clickHouseUrl,
    `insert into requests (organization_id, ts, id, version, api_key_id, cost, day, model, input, output)
     select ${organization}, ${ts}, generateUUIDv4(), 1, toUUID(concat('00000000-0000-4000-8000-00000000000', toString(rand(1) % 10))),
            rand(2) % 100000000, intDiv(${ts}, 86400000), concat('bench/', toString(rand(3) % 4)), rand(4) % 8000, rand(5) % 1500
       from numbers(${rowsOfMonth})`,
  )
  const where = `where organization_id = ${organization} and ts >= ${old.fromMs} and ts < ${old.toMs}`
  const measured: Record<string, unknown> = {
    rows: Number(await clickHouse.query(clickHouseUrl, `select count() from requests final ${where}`)),
  }
  for (const final of ['final', '']) {
    const taken: number[] = []
    const cpuFrom = readCpuMs(clickHouse.pid)
    for (let n = 0; n < 8; n++) {
      const startedMs = performance.now()
      await clickHouse.query(
        clickHouseUrl,
        `select day, api_key_id, model, count(), sum(cost), sum(input), sum(output) from requests ${final} ${where}
          group by day, api_key_id, model order by day format TSV`,
      )
      taken.push(performance.now() - startedMs)
    }
    measured[final === '' ? 'withoutFinal' : 'final'] = {
      ms: quantiles(taken),
      cpuMs: Math.round((readCpuMs(clickHouse.pid) - cpuFrom) / 8),
    }
  }
  return measured
}
