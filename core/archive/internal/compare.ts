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
  count: z.string(),
  costs: z.string(),
  tokens: z.string(),
  digest1: z.string(),
  digest2: z.string(),
})

type Sums = z.infer<typeof sumsSchema>

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
  for await (const second of findDifferingSpans(client, store, span, 0)) {
    const seen = new Set((await compareRows(client, store, second)).map(({ id }) => id))
    if (seen.size === 0) continue
    await pause(recheckAfterMs)
    const again = await compareRows(client, store, second)
    differences.push(...again.filter(({ id }) => seen.has(id)))
    if (differences.length >= namedMax) break
  }
  return differences.slice(0, namedMax)
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

async function readPostgresSums(client: Queryable, span: TimeSpan, stepMs: number): Promise<readonly Sums[]> {
  const tokens = tokenColumns.map((column) => `${column}::bigint`).join(' + ')
  const { rows } = await client.query<Sums>(
    `select (ts::bigint / $3::bigint)::text as place, count(*)::text as count, sum(cost::bigint)::text as costs,
            sum(${tokens})::text as tokens, sum(${postgresDigest(0)})::text as digest1,
            sum(${postgresDigest(1)})::text as digest2
       from (select ${archivedRowSql} from requests r
              where r.ts >= to_timestamp($1::float8 / 1000) and r.ts < to_timestamp($2::float8 / 1000)) a
      group by 1`,
    [span.fromMs, span.toMs, stepMs],
  )
  return rows
}

function readClickHouseSums(
  store: ArchiveStore,
  { fromMs, toMs }: TimeSpan,
  stepMs: number,
): Promise<readonly Sums[]> {
  return store.read(
    `select toString(intDiv(ts, ${stepMs})) as place, toString(count()) as count, toString(sum(cost)) as costs,
            toString(sum(${tokenColumns.join(' + ')})) as tokens, toString(sum(${clickHouseDigest(0)})) as digest1,
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
      where r.ts >= to_timestamp($1::float8 / 1000) and r.ts < to_timestamp($2::float8 / 1000)`,
    [span.fromMs, span.toMs],
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
