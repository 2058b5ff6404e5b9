import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import type { Queryable } from '../../db/pool.ts'
import type { ArchiveStore } from '../archive-store.ts'
import { archiveColumns, archiveTable } from './archive-table.ts'
import { type ArchivedRow, archivedRowSql } from './archived-row.ts'

/** A span of time, in milliseconds since 1970; `toMs` is not part of it. */
export type TimeSpan = { readonly fromMs: number; readonly toMs: number }

/** A request that is not the same on both sides, and no longer waits to be copied. */
export type Difference = {
  readonly id: string
  readonly is: 'missing in ClickHouse' | 'missing in Postgres' | 'different'
  /** Columns that differ. */
  readonly columns: readonly string[]
}

/** What a span of time has: equal on both sides, or a row differs. Numbers as text. */
const sumsSchema = z.object({
  place: z.string(),
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

const columns = Object.keys(archiveColumns)
const tokenColumns = ['input', 'cached_input', 'cache_write', 'output', 'reasoning']

/** The row's digest covers every column: two halves of 32 bits, whose sums do not overflow. */
const postgresDigest = (place: number) =>
  `('x' || substr(md5(concat_ws('|', ${columns.join(', ')})), ${8 * place + 1}, 8))::bit(32)::bigint`
const clickHouseText = columns.map((column) => `toString(${column})`).join(", '|', ")
const clickHouseDigest = (place: number) =>
  `reinterpretAsUInt32(reverse(substring(MD5(concat(${clickHouseText})), ${4 * place + 1}, 4)))`

/**
 * Compares the requests of a span of time on both sides: number, cost, tokens, and a digest of every column. Names at most
 * `namedMax` requests that differ; none: both sides are equal. Requests that still wait to be copied are no difference.
 *
 * @throws ArchiveUnavailable
 */
export async function compareSpan(
  client: Queryable,
  store: ArchiveStore,
  span: TimeSpan,
): Promise<readonly Difference[]> {
  const differences: Difference[] = []
  for await (const second of findDifferingSeconds(client, store, span)) {
    const seen = new Set((await compareRows(client, store, second)).map(({ id }) => id))
    if (seen.size === 0) continue
    await pause(recheckAfterMs)
    const again = await compareRows(client, store, second)
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
  span: TimeSpan,
  stopping: AbortSignal,
): Promise<SpanSums | undefined> {
  const all: Sums[] = []
  for (const day of daysOf(span)) {
    stopping.throwIfAborted()
    const here = await readPostgresSums(client, day, hourMs)
    const there = await readClickHouseSums(store, day, hourMs)
    if (findDifferingPlaces(here, there).length > 0) return undefined
    all.push(...here)
  }
  return totalOf(all)
}

/** The sums of a span of time in the archive. @throws ArchiveUnavailable */
export async function sumArchive(store: ArchiveStore, span: TimeSpan): Promise<SpanSums> {
  const all: Sums[] = []
  for (const day of daysOf(span)) all.push(...(await readClickHouseSums(store, day, hourMs)))
  return totalOf(all)
}

function totalOf(all: readonly Sums[]): SpanSums {
  const total = (name: Exclude<keyof Sums, 'place'>) =>
    all.reduce((sum, sums) => sum + BigInt(sums[name]), 0n)
  return {
    requests: total('request_count'),
    cost: total('cost_sum'),
    tokens: total('token_sum'),
    digest1: total('digest1'),
    digest2: total('digest2'),
  }
}

/** The names of the sums that differ. Pure. */
export function findDifferingSums(left: SpanSums, right: SpanSums): readonly string[] {
  return sumNames.filter((name) => left[name] !== right[name])
}

function* daysOf({ fromMs, toMs }: TimeSpan): Generator<TimeSpan> {
  for (let at = fromMs; at < toMs; at += dayMs) yield { fromMs: at, toMs: Math.min(at + dayMs, toMs) }
}

async function* findDifferingSeconds(
  client: Queryable,
  store: ArchiveStore,
  span: TimeSpan,
): AsyncGenerator<TimeSpan> {
  for (const day of daysOf(span)) yield* findDifferingSpans(client, store, day, 0)
}

/** One after the other: those whose requests only wait are many, and must not hide others. */
async function* findDifferingSpans(
  client: Queryable,
  store: ArchiveStore,
  span: TimeSpan,
  depth: number,
): AsyncGenerator<TimeSpan> {
  const stepMs = stepsMs[depth]
  if (stepMs === undefined) return yield span
  const here = await readPostgresSums(client, span, stepMs)
  const there = await readClickHouseSums(store, span, stepMs)
  for (const fromMs of findDifferingPlaces(here, there).map((place) => Number(place) * stepMs))
    yield* findDifferingSpans(client, store, { fromMs, toMs: fromMs + stepMs }, depth + 1)
}

/** Places whose sums are not the same on both sides, in order. Pure. */
function findDifferingPlaces(here: readonly Sums[], there: readonly Sums[]): readonly string[] {
  const textOf = ({ place, ...sums }: Sums) => [place, JSON.stringify(Object.entries(sums).sort())] as const
  const left = new Map(here.map(textOf))
  const right = new Map(there.map(textOf))
  return [...new Set([...left.keys(), ...right.keys()])]
    .filter((place) => left.get(place) !== right.get(place))
    .sort((a, b) => Number(a) - Number(b))
}

/** By the time in the ids too: only they have an index. */
const inSpan = `r.ts >= to_timestamp($1::float8 / 1000) and r.ts < to_timestamp($2::float8 / 1000)
                and r.id >= $3::uuid and r.id < $4::uuid`

function spanValues({ fromMs, toMs }: TimeSpan): unknown[] {
  return [fromMs, toMs, firstIdAt(fromMs), firstIdAt(toMs)]
}

function firstIdAt(ms: number): string {
  const hex = ms.toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`
}

async function readPostgresSums(client: Queryable, span: TimeSpan, stepMs: number): Promise<readonly Sums[]> {
  const tokens = tokenColumns.map((column) => `${column}::bigint`).join(' + ')
  const { rows } = await client.query<Sums>(
    `select (ts::bigint / $5::bigint)::text as place, count(*)::text as request_count, sum(cost::bigint)::text as cost_sum,
            sum(${tokens})::text as token_sum, sum(${postgresDigest(0)})::text as digest1,
            sum(${postgresDigest(1)})::text as digest2
       from (select ${archivedRowSql} from requests r
              where ${inSpan}) a
      group by 1`,
    [...spanValues(span), stepMs],
  )
  return rows
}

function readClickHouseSums(
  store: ArchiveStore,
  { fromMs, toMs }: TimeSpan,
  stepMs: number,
): Promise<readonly Sums[]> {
  return store.read(
    `select toString(intDiv(ts, ${stepMs})) as place, toString(count()) as request_count, toString(sum(cost)) as cost_sum,
            toString(sum(${tokenColumns.join(' + ')})) as token_sum, toString(sum(${clickHouseDigest(0)})) as digest1,
            toString(sum(${clickHouseDigest(1)})) as digest2
       from ${archiveTable} final where ts >= ${fromMs} and ts < ${toMs} group by place`,
    sumsSchema,
  )
}

/** First Postgres, then ClickHouse: a request that does not wait was copied before. */
async function compareRows(
  client: Queryable,
  store: ArchiveStore,
  span: TimeSpan,
): Promise<readonly Difference[]> {
  const { rows } = await client.query<ArchivedRow & { isWaiting: boolean }>(
    `select ${archivedRowSql},
            r.id in (select unnest(ids) from archive_outbox)
              or exists (select from archive where noted_at is null and r.id > noted_to) as "isWaiting"
       from requests r
      where ${inSpan}`,
    spanValues(span),
  )
  const shown = columns.map((column) => `toString(${column}) as ${column}_text`).join(', ')
  const archived = await store.read(
    `select ${shown} from ${archiveTable} final where ts >= ${span.fromMs} and ts < ${span.toMs}`,
    z.record(z.string(), z.string()),
  )
  const there = new Map(archived.map((row) => [row.id_text, row]))
  const here = new Set(rows.map(({ id }) => id))
  const settled = rows.filter(({ isWaiting }) => !isWaiting)
  return [
    ...settled.flatMap((row) => differenceOf(row, there.get(row.id)) ?? []),
    ...archived.flatMap(({ id_text: id = '' }) =>
      here.has(id) ? [] : [{ id, is: 'missing in Postgres', columns: [] } as const],
    ),
  ]
}

function differenceOf(
  row: ArchivedRow,
  copy: Readonly<Record<string, string>> | undefined,
): Difference | undefined {
  if (copy === undefined) return { id: row.id, is: 'missing in ClickHouse', columns: [] }
  const here: Readonly<Record<string, string>> = row
  const differing = columns.filter((column) => here[column] !== copy[`${column}_text`])
  return differing.length === 0 ? undefined : { id: row.id, is: 'different', columns: differing }
}
