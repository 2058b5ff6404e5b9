import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import type { Queryable } from '../../db/pool.ts'
import type { ArchiveStore } from '../archive-store.ts'
import type { ArchiveTable } from './archive-table.ts'

/** A table of the archive, and the rows of Postgres that belong there. */
export type Compared = {
  readonly table: ArchiveTable
  /** Every column of the table as text. `$1` to `$4`: a span of time in milliseconds, and in ids. */
  readonly rows: string
  /** The column that names a row. */
  readonly id: string
  readonly cost: string
  readonly tokens: readonly string[]
  /** Whether a row `a` is still to be copied. */
  readonly isWaiting: string
}

/** A span of time, in milliseconds since 1970; `toMs` is not part of it. */
export type TimeSpan = { readonly fromMs: number; readonly toMs: number }

/** A row that is not the same on both sides, and no longer waits to be copied. */
export type Difference = {
  readonly id: string
  readonly is: 'missing in ClickHouse' | 'missing in Postgres' | 'different'
  /** Columns that differ. */
  readonly columns: readonly string[]
}

/** What a span of time has: equal on both sides, or a row differs. Numbers as text. */
const sumsSchema = z.object({
  step: z.string(),
  request_count: z.string(),
  cost_sum: z.string(),
  token_sum: z.string(),
  digest1: z.string(),
  digest2: z.string(),
})

type Sums = z.infer<typeof sumsSchema>

/** What a span of time has in all. */
export type SpanSums = Readonly<Record<(typeof sumNames)[number], bigint>>

const sumNames = ['requests', 'cost', 'tokens', 'digest1', 'digest2'] as const

/** One statement reads a day: hours would be many statements, and a month is too long for one. */
const dayMs = 86_400_000
/** Differing spans are split, until one has few enough rows to be listed. */
const hourMs = 3_600_000
const stepsMs = [hourMs, 60_000, 1_000]
/** Both sides are read one after the other. A request that is posted and copied in between is equal this much later. */
const recheckAfterMs = 2_000
/** Differences that one comparison names; the first show the cause. */
const namedMax = 20

const columnsOf = ({ columns }: ArchiveTable) => Object.keys(columns)

/** The row's digest covers every column: two halves of 32 bits, whose sums do not overflow. */
export function postgresDigest(table: ArchiveTable, place: 0 | 1): string {
  return `('x' || substr(md5(concat_ws('|', ${columnsOf(table).join(', ')})), ${8 * place + 1}, 8))::bit(32)::bigint`
}

/** The same in ClickHouse. */
export function clickHouseDigest(table: ArchiveTable, place: 0 | 1): string {
  const text = columnsOf(table).map((column) => `toString(${column})`)
  return `reinterpretAsUInt32(reverse(substring(MD5(concat(${text.join(", '|', ")})), ${4 * place + 1}, 4)))`
}

/**
 * Compares the rows of a span of time on both sides: number, cost, tokens, and a digest of every column. Names at most
 * `namedMax` rows that differ; none: both sides are equal. Rows that still wait to be copied are no difference.
 *
 * @throws ArchiveUnavailable
 */
export async function compareSpan(
  client: Queryable,
  store: ArchiveStore,
  compared: Compared,
  span: TimeSpan,
): Promise<readonly Difference[]> {
  const differences: Difference[] = []
  for await (const second of findDifferingSeconds(client, store, compared, span)) {
    const seen = new Set((await compareRows(client, store, compared, second)).map(({ id }) => id))
    if (seen.size === 0) continue
    await pause(recheckAfterMs)
    const again = await compareRows(client, store, compared, second)
    differences.push(...again.filter(({ id }) => seen.has(id)))
    if (differences.length >= namedMax) break
  }
  return differences.slice(0, namedMax)
}

/**
 * The sums of a span of time, if they are the same on both sides, hour by hour; `undefined`: they are not.
 *
 * @throws ArchiveUnavailable; the reason of `stopping`
 */
export async function sumIfEqual(
  client: Queryable,
  store: ArchiveStore,
  compared: Compared,
  span: TimeSpan,
  stopping?: AbortSignal,
): Promise<SpanSums | undefined> {
  const all: Sums[] = []
  for (const day of daysOf(span)) {
    stopping?.throwIfAborted()
    const here = await readPostgresSums(client, compared, day, hourMs)
    const there = await readClickHouseSums(store, compared, day, hourMs)
    if (findDifferingSteps(here, there).length > 0) return undefined
    all.push(...here)
  }
  return totalOf(all)
}

/** The sums of a span of time in the archive. @throws ArchiveUnavailable */
export async function sumArchive(store: ArchiveStore, compared: Compared, span: TimeSpan): Promise<SpanSums> {
  const all: Sums[] = []
  for (const day of daysOf(span)) all.push(...(await readClickHouseSums(store, compared, day, hourMs)))
  return totalOf(all)
}

function totalOf(all: readonly Sums[]): SpanSums {
  return addSums(
    all.map((sums) => ({
      requests: BigInt(sums.request_count),
      cost: BigInt(sums.cost_sum),
      tokens: BigInt(sums.token_sum),
      digest1: BigInt(sums.digest1),
      digest2: BigInt(sums.digest2),
    })),
  )
}

/** The sums of several spans. Pure. */
export function addSums(all: readonly SpanSums[]): SpanSums {
  const total = (name: keyof SpanSums) => all.reduce((sum, sums) => sum + sums[name], 0n)
  return {
    requests: total('requests'),
    cost: total('cost'),
    tokens: total('tokens'),
    digest1: total('digest1'),
    digest2: total('digest2'),
  }
}

/** The names of the sums that differ. Pure. */
export function findDifferingSums(left: SpanSums, right: SpanSums): readonly string[] {
  return sumNames.filter((name) => left[name] !== right[name])
}

/** UTC days of a span. */
export function* daysOf({ fromMs, toMs }: TimeSpan): Generator<TimeSpan> {
  for (let at = fromMs; at < toMs; at += dayMs) yield { fromMs: at, toMs: Math.min(at + dayMs, toMs) }
}

async function* findDifferingSeconds(
  client: Queryable,
  store: ArchiveStore,
  compared: Compared,
  span: TimeSpan,
): AsyncGenerator<TimeSpan> {
  for (const day of daysOf(span)) yield* findDifferingSpans(client, store, compared, day, 0)
}

/** One after the other: those whose requests only wait are many, and must not hide others. */
async function* findDifferingSpans(
  client: Queryable,
  store: ArchiveStore,
  compared: Compared,
  span: TimeSpan,
  depth: number,
): AsyncGenerator<TimeSpan> {
  const stepMs = stepsMs[depth]
  if (stepMs === undefined) return yield span
  const here = await readPostgresSums(client, compared, span, stepMs)
  const there = await readClickHouseSums(store, compared, span, stepMs)
  for (const fromMs of findDifferingSteps(here, there).map((step) => Number(step) * stepMs))
    yield* findDifferingSpans(client, store, compared, { fromMs, toMs: fromMs + stepMs }, depth + 1)
}

/** Steps whose sums are not the same on both sides, in order. Pure. */
function findDifferingSteps(here: readonly Sums[], there: readonly Sums[]): readonly string[] {
  const textOf = ({ step, ...sums }: Sums) => [step, JSON.stringify(Object.entries(sums).sort())] as const
  const left = new Map(here.map(textOf))
  const right = new Map(there.map(textOf))
  return [...new Set([...left.keys(), ...right.keys()])]
    .filter((step) => left.get(step) !== right.get(step))
    .sort((a, b) => Number(a) - Number(b))
}

/** By the time in the ids too: only they have an index. */
export function inSpanSql(ts: string, id: string): string {
  return `${ts} >= to_timestamp($1::float8 / 1000) and ${ts} < to_timestamp($2::float8 / 1000)
          and ${id} >= $3::uuid and ${id} < $4::uuid`
}

/** The values of `inSpanSql`. */
export function spanValues({ fromMs, toMs }: TimeSpan): unknown[] {
  return [fromMs, toMs, firstIdAt(fromMs), firstIdAt(toMs)]
}

function firstIdAt(ms: number): string {
  const hex = ms.toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`
}

async function readPostgresSums(
  client: Queryable,
  { table, rows: source, cost, tokens }: Compared,
  span: TimeSpan,
  stepMs: number,
): Promise<readonly Sums[]> {
  const tokenSum = ['0', ...tokens].map((column) => `${column}::bigint`).join(' + ')
  const { rows } = await client.query<Sums>(
    `select (ts::bigint / $5::bigint)::text as step, count(*)::text as request_count, sum(${cost}::bigint)::text as cost_sum,
            sum(${tokenSum})::text as token_sum, sum(${postgresDigest(table, 0)})::text as digest1,
            sum(${postgresDigest(table, 1)})::text as digest2
       from (${source}) a
      group by 1`,
    [...spanValues(span), stepMs],
  )
  return rows
}

function readClickHouseSums(
  store: ArchiveStore,
  { table, cost, tokens }: Compared,
  { fromMs, toMs }: TimeSpan,
  stepMs: number,
): Promise<readonly Sums[]> {
  return store.read(
    `select toString(intDiv(ts, ${stepMs})) as step, toString(count()) as request_count, toString(sum(${cost})) as cost_sum,
            toString(sum(${['0', ...tokens].join(' + ')})) as token_sum, toString(sum(${clickHouseDigest(table, 0)})) as digest1,
            toString(sum(${clickHouseDigest(table, 1)})) as digest2
       from ${table.name} final where ts >= ${fromMs} and ts < ${toMs} group by step`,
    sumsSchema,
  )
}

type Row = Readonly<Record<string, string>>

/** First Postgres, then ClickHouse: a row that does not wait was copied before. */
async function compareRows(
  client: Queryable,
  store: ArchiveStore,
  { table, rows: source, id: idColumn, isWaiting }: Compared,
  span: TimeSpan,
): Promise<readonly Difference[]> {
  const { rows } = await client.query<Row & { readonly isWaiting: boolean }>(
    `select a.*, ${isWaiting} as "isWaiting" from (${source}) a`,
    spanValues(span),
  )
  const shown = columnsOf(table).map((column) => `toString(${column}) as ${column}_text`)
  const archived = await store.read(
    `select ${shown.join(', ')} from ${table.name} final where ts >= ${span.fromMs} and ts < ${span.toMs}`,
    z.record(z.string(), z.string()),
  )
  const idOf = (row: Row) => row[idColumn] ?? ''
  const there = new Map(archived.map((row) => [row[`${idColumn}_text`], row]))
  const here = new Set(rows.map(idOf))
  const settled = rows.filter((row) => !row.isWaiting)
  return [
    ...settled.flatMap((row) => differenceOf(table, idOf(row), row, there.get(idOf(row))) ?? []),
    ...archived.flatMap(({ [`${idColumn}_text`]: id = '' }) =>
      here.has(id) ? [] : [{ id, is: 'missing in Postgres', columns: [] } as const],
    ),
  ]
}

function differenceOf(
  table: ArchiveTable,
  id: string,
  row: Row,
  copy: Row | undefined,
): Difference | undefined {
  if (copy === undefined) return { id, is: 'missing in ClickHouse', columns: [] }
  const differing = columnsOf(table).filter((column) => row[column] !== copy[`${column}_text`])
  return differing.length === 0 ? undefined : { id, is: 'different', columns: differing }
}
