import type { Queryable } from '#core/db/pool'
import { type NanoRub, nanoRub } from '#core/ledger/money'
import { noTokens, type TokenClasses } from '#core/ledger/price'
import { allOf } from './conditions.ts'
import type { BoundedSpan, Span } from './span.ts'

export type UsageSums = { readonly requests: number; readonly tokens: TokenClasses; readonly cost: NanoRub }

/** Usage in one hour, day, week or month, per model, per key, or per model and key. */
export type UsageRow = UsageSums & {
  readonly start: Date
  readonly model: string | null
  readonly keyId: string | null
  readonly keyName: string | null
}

export type UsageQuestion = BoundedSpan & {
  readonly timeZone: string
  readonly bucket: 'hour' | 'day' | 'week' | 'month'
  readonly groupBy: 'model' | 'key' | 'model_and_key'
}

type Row = Pick<UsageRow, 'start' | 'model' | 'keyId' | 'keyName'> & {
  readonly [Sum in 'requests' | 'cost' | keyof TokenClasses]: bigint
}

/**
 * An organization's usage, oldest first, at most `limit` rows. The first and last bucket are cut at the ends of the time
 * span. Rows that corrections reduced to zero are left out.
 */
export async function readUsage(
  client: Queryable,
  organizationId: string,
  { from, to, timeZone, bucket, groupBy }: UsageQuestion,
  limit: number | 'all',
): Promise<readonly UsageRow[]> {
  const [byModel, byKey] = [groupBy !== 'key', groupBy !== 'model']
  const groups = [...(byModel ? ['u.model'] : []), ...(byKey ? ['u.api_key_id'] : [])].join(', ')
  const places = byModel && byKey ? '1, 2, 3' : '1, 2'
  const start = bucket === 'hour' ? 'u.hour' : `greatest(date_trunc('${bucket}', u.hour, $4), $2)`
  const { rows } = await client.query<Row>(
    `select u.start, ${byModel ? 'u.model' : 'null'} as model,
            ${byKey ? 'u.api_key_id' : 'null'} as "keyId", ${byKey ? 'k.name' : 'null'} as "keyName",
            u.requests, u.input, u."cachedInput", u."cacheWrite", u.output, u.reasoning, u.cost
       from (select ${start} as start, ${groups}, sum(u.requests)::bigint as requests,
                    sum(u.input)::bigint as input, sum(u.cached_input)::bigint as "cachedInput",
                    sum(u.cache_write)::bigint as "cacheWrite", sum(u.output)::bigint as output,
                    sum(u.reasoning)::bigint as reasoning, sum(u.cost)::bigint as cost
               from usage_hourly u
              where u.organization_id = $1 and u.hour >= $2 and u.hour < $3
              group by ${places} having sum(u.requests) <> 0 or sum(u.cost) <> 0
              order by ${places} limit ${limit}) u
       ${byKey ? 'left join api_keys k on k.id = u.api_key_id and k.organization_id = $1' : ''}
      order by u.start, ${groups}`,
    [organizationId, from, to, ...(bucket === 'hour' ? [] : [timeZone])],
  )
  return rows.map(({ start, model, keyId, keyName, requests, cost, ...counted }) => ({
    start,
    model,
    keyId,
    keyName,
    requests: Number(requests),
    cost: nanoRub(cost),
    tokens: {
      input: Number(counted.input),
      cachedInput: Number(counted.cachedInput),
      cacheWrite: Number(counted.cacheWrite),
      output: Number(counted.output),
      reasoning: Number(counted.reasoning),
    },
  }))
}

/** Requests and cost of an organization in whole hours, of one key or model if named. */
export async function readUsageSums(
  client: Queryable,
  organizationId: string,
  {
    from,
    to,
    keyId,
    model,
  }: Span & { readonly keyId?: string | undefined; readonly model?: string | undefined },
): Promise<Pick<UsageSums, 'requests' | 'cost'>> {
  const { sql, values } = allOf([
    ['organization_id = ?', organizationId],
    keyId !== undefined && ['api_key_id = ?', keyId],
    model !== undefined && ['model = ?', model],
    from !== null && ['hour >= ?', from],
    to !== null && ['hour < ?', to],
  ])
  const { rows } = await client.query<{ requests: bigint; cost: bigint }>(
    `select coalesce(sum(requests), 0)::bigint as requests, coalesce(sum(cost), 0)::bigint as cost
       from usage_hourly where ${sql}`,
    values,
  )
  return { requests: Number(rows[0]?.requests ?? 0), cost: nanoRub(rows[0]?.cost ?? 0n) }
}

/** The total of all rows. Pure. */
export function totalOf(rows: readonly UsageSums[]): UsageSums {
  const none: UsageSums = { requests: 0, tokens: noTokens, cost: nanoRub(0n) }
  return rows.reduce(
    (sum, row) => ({
      requests: sum.requests + row.requests,
      tokens: addTokens(sum.tokens, row.tokens),
      cost: nanoRub(sum.cost + row.cost),
    }),
    none,
  )
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
  { from, to, timeZone, bucket }: Omit<UsageQuestion, 'groupBy'>,
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
