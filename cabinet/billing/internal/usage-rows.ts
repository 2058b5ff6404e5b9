import type { Queryable } from '#core/db/pool'
import { type NanoRub, nanoRub } from '#core/ledger/money'
import { noTokens, type TokenClasses } from '#core/ledger/price'
import { addDurations, type DurationCounts } from '../durations.ts'
import { allOf } from './conditions.ts'
import type { BoundedSpan, Span } from './span.ts'

export type UsageSums = {
  readonly requests: number
  readonly tokens: TokenClasses
  readonly cost: NanoRub
  /** Requests whose client got an error; `null` if all of them are older than these counts. */
  readonly errors: number | null
  /** Of completed requests; empty if none was asked for. */
  readonly durations: DurationCounts
}

/** Usage in one hour, day, week or month, per model, key, provider, tag, or model and key. */
export type UsageRow = UsageSums & {
  readonly start: Date
  readonly model: string | null
  readonly keyId: string | null
  readonly keyName: string | null
  /** `null` also of requests that are older than these sums. */
  readonly provider: string | null
  /** `-`: of keys without tags. A key with two tags is in two rows. */
  readonly tag: string | null
}

export type UsageQuestion = BoundedSpan & {
  readonly timeZone: string
  readonly bucket: 'hour' | 'day' | 'week' | 'month'
  readonly groupBy: 'model' | 'key' | 'model_and_key' | 'provider' | 'tag'
  readonly hasDurations: boolean
}

type Row = Pick<UsageRow, 'start' | 'model' | 'keyId' | 'keyName' | 'provider' | 'tag'> & {
  readonly [Sum in 'requests' | 'cost' | keyof TokenClasses]: bigint
} & { readonly errors: bigint | null }

const columnsOf = {
  model: ['model'],
  key: ['api_key_id'],
  model_and_key: ['model', 'api_key_id'],
  provider: ['provider'],
  tag: ['tag'],
} as const

/** The rows of these keys once for each tag of their key. */
const withTags = (rows: string) => `
  (select t.tag, n.* from ${rows} n
     left join api_keys k on k.id = n.api_key_id and k.organization_id = $1
    cross join unnest(case when cardinality(k.tags) > 0 then k.tags else '{-}' end) t (tag))`

const sumNames = ['requests', 'input', 'cached_input', 'cache_write', 'output', 'reasoning', 'cost'] as const

/** Sums by provider since there are such, and those without providers before. */
const splitUsage = `
  (select api_key_id, model, provider, hour, errors, ${sumNames.join(', ')} from usage_by_provider
    where organization_id = $1 and hour >= greatest($2, (select at from usage_since)) and hour < $3
   union all
   select api_key_id, model, null, hour, null, ${sumNames.join(', ')} from usage_hourly
    where organization_id = $1 and hour >= $2 and hour < least($3, (select at from usage_since)))`

/**
 * An organization's usage, oldest first, at most `limit` rows. The first and last bucket are cut at the ends of the time
 * span. Rows that corrections reduced to zero are left out.
 */
export async function readUsage(
  client: Queryable,
  organizationId: string,
  question: UsageQuestion,
  limit: number | 'all',
): Promise<readonly UsageRow[]> {
  const { groupBy } = question
  const columns: readonly string[] = columnsOf[groupBy]
  const byKey = columns.includes('api_key_id')
  const groups = columns.map((column) => `u.${column}`).join(', ')
  const places = [1, ...columns.map((_, at) => at + 2)].join(', ')
  const values = valuesOf(organizationId, question)
  const { rows } = await client.query<Row>(
    `select ${placeColumns(columns)}, ${byKey ? 'k.name' : 'null'} as "keyName", u.requests, u.errors, u.input, u."cachedInput", u."cacheWrite", u.output, u.reasoning, u.cost
       from (select ${startOf(question)} as start, ${groups}, sum(u.requests)::bigint as requests, sum(u.errors)::bigint as errors,
                    sum(u.input)::bigint as input, sum(u.cached_input)::bigint as "cachedInput",
                    sum(u.cache_write)::bigint as "cacheWrite", sum(u.output)::bigint as output,
                    sum(u.reasoning)::bigint as reasoning, sum(u.cost)::bigint as cost
               from ${groupBy === 'tag' ? withTags(splitUsage) : splitUsage} u
              group by ${places} having sum(u.requests) <> 0 or sum(u.cost) <> 0
              order by ${places} limit ${limit}) u
       ${byKey ? 'left join api_keys k on k.id = u.api_key_id and k.organization_id = $1' : ''}
      order by u.start, ${groups}`,
    values,
  )
  const isCut = limit !== 'all' && rows.length === limit
  const durations =
    question.hasDurations && !isCut ? await readDurations(client, organizationId, question) : undefined
  return rows.map(({ start, model, keyId, keyName, provider, tag, requests, errors, cost, ...counted }) => ({
    start,
    model,
    keyId,
    keyName,
    provider,
    tag,
    requests: Number(requests),
    cost: nanoRub(cost),
    errors: errors === null ? null : Number(errors),
    durations: durations?.get(placeOf({ start, model, keyId, provider, tag })) ?? new Map(),
    tokens: {
      input: Number(counted.input),
      cachedInput: Number(counted.cachedInput),
      cacheWrite: Number(counted.cacheWrite),
      output: Number(counted.output),
      reasoning: Number(counted.reasoning),
    },
  }))
}

function startOf({ bucket }: UsageQuestion): string {
  return bucket === 'hour' ? 'u.hour' : `greatest(date_trunc('${bucket}', u.hour, $4), $2)`
}

function valuesOf(organizationId: string, { from, to, timeZone, bucket }: UsageQuestion): unknown[] {
  return [organizationId, from, to, ...(bucket === 'hour' ? [] : [timeZone])]
}

/** Where a row `u` is, which has some of these columns. */
function placeColumns(columns: readonly string[]): string {
  const shown = (column: string) => (columns.includes(column) ? `u.${column}` : 'null')
  return `u.start, ${shown('model')} as model, ${shown('api_key_id')} as "keyId", ${shown('provider')} as provider, ${shown('tag')} as tag`
}

type Place = Pick<UsageRow, 'start' | 'model' | 'keyId' | 'provider' | 'tag'>

const placeOf = ({ start, model, keyId, provider, tag }: Place) =>
  JSON.stringify([start.getTime(), model, keyId, provider, tag])

/** The durations of each row of usage. */
async function readDurations(
  client: Queryable,
  organizationId: string,
  question: UsageQuestion,
): Promise<ReadonlyMap<string, DurationCounts>> {
  const columns: readonly string[] = columnsOf[question.groupBy]
  const places = [1, ...columns.map((_, at) => at + 2)].join(', ')
  const groups = columns.map((column) => `u.${column}`).join(', ')
  const { rows } = await client.query<Place & { readonly counts: Readonly<Record<string, number>> }>(
    `select ${placeColumns(columns)}, jsonb_object_agg(u.class, u.requests) as counts
       from (select ${startOf(question)} as start, ${groups}, u.class, sum(u.requests)::bigint as requests
               from ${question.groupBy === 'tag' ? withTags('durations_hourly') : 'durations_hourly'} u
              where u.organization_id = $1 and u.hour >= greatest($2, (select at from usage_since)) and u.hour < $3
              group by ${places}, u.class having sum(u.requests) <> 0) u
      group by u.start, ${groups}`,
    valuesOf(organizationId, question),
  )
  return new Map(
    rows.map(({ counts, ...place }) => [
      placeOf(place),
      new Map(Object.entries(counts).map(([at, requests]) => [Number(at), requests])),
    ]),
  )
}

/** From when on requests are counted by provider, error and duration; `null`: from the first one. */
export async function readUsageSince(client: Queryable): Promise<Date | null> {
  const { rows } = await client.query<{ at: Date | null }>(
    "select nullif(at, '-infinity') as at from usage_since",
  )
  return rows[0]?.at ?? null
}

/** Requests and cost of an organization in whole hours, of one key, model or provider if named. */
export async function readUsageSums(
  client: Queryable,
  organizationId: string,
  {
    from,
    to,
    keyId,
    model,
    provider,
    keyIds,
  }: Span & { readonly [Name in 'keyId' | 'model' | 'provider']?: string | undefined } & {
    readonly keyIds?: ReadonlySet<string> | undefined
  },
): Promise<Pick<UsageSums, 'requests' | 'cost'>> {
  const { sql, values } = allOf([
    ['organization_id = ?', organizationId],
    keyId !== undefined && ['api_key_id = ?', keyId],
    keyIds !== undefined && ['api_key_id = any (?::uuid[])', [...keyIds]],
    model !== undefined && ['model = ?', model],
    provider !== undefined && ['provider = ?', provider],
    from !== null && ['hour >= ?', from],
    to !== null && ['hour < ?', to],
  ])
  const { rows } = await client.query<{ requests: bigint; cost: bigint }>(
    `select coalesce(sum(requests), 0)::bigint as requests, coalesce(sum(cost), 0)::bigint as cost
       from ${provider === undefined ? 'usage_hourly' : 'usage_by_provider'} where ${sql}`,
    values,
  )
  return { requests: Number(rows[0]?.requests ?? 0), cost: nanoRub(rows[0]?.cost ?? 0n) }
}

/** The total of all rows. Pure. */
export function totalOf(rows: readonly UsageSums[]): UsageSums {
  const counted = rows.flatMap(({ errors }) => errors ?? [])
  return {
    requests: rows.reduce((sum, { requests }) => sum + requests, 0),
    tokens: rows.reduce((sum, { tokens }) => addTokens(sum, tokens), noTokens),
    cost: nanoRub(rows.reduce((sum, { cost }) => sum + cost, 0n)),
    errors: counted.length === 0 && rows.length > 0 ? null : counted.reduce((sum, one) => sum + one, 0),
    durations: addDurations(rows.map(({ durations }) => durations)),
  }
}

function addTokens(one: TokenClasses, other: TokenClasses): TokenClasses {
  return {
    input: one.input + other.input,
    cachedInput: one.cachedInput + other.cachedInput,
    cacheWrite: one.cacheWrite + other.cacheWrite,
    output: one.output + other.output,
    reasoning: one.reasoning + other.reasoning,
  }
}

/** What an export reads at once, and where it begins: about the same number of rows for every bucket but the longest. */
const partOf = {
  hour: ['day', '1 day'],
  day: ['day', '7 days'],
  week: ['week', '7 days'],
  month: ['month', '1 month'],
} as const

/** Splits a time span into consecutive parts. No part cuts a bucket of the time zone in two. */
export async function readParts(
  client: Queryable,
  { from, to, timeZone, bucket }: Omit<UsageQuestion, 'groupBy' | 'hasDurations'>,
): Promise<readonly BoundedSpan[]> {
  const { rows } = await client.query<{ midnight: Date }>(
    `select day at time zone $3 as midnight
       from generate_series(date_trunc($4, $1::timestamptz at time zone $3), $2::timestamptz at time zone $3, $5::interval) day`,
    [from, to, timeZone, ...partOf[bucket]],
  )
  const cuts = rows.map(({ midnight }) => midnight).filter((midnight) => midnight > from && midnight < to)
  const starts = [from, ...cuts]
  return starts.map((start, index) => ({ from: start, to: starts[index + 1] ?? to }))
}
