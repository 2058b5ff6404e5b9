import type { Queryable } from '../../db/pool.ts'
import { type NanoRub, nanoRub } from '../money.ts'
import { noTokens, type TokenClasses } from '../price.ts'
import type { BoundedSpan } from './span.ts'

export type UsageSums = { readonly requests: number; readonly tokens: TokenClasses; readonly cost: NanoRub }

/** What was used in one hour or day of one model, by one key, or of one model by one key. */
export type UsageRow = UsageSums & {
  readonly start: Date
  readonly model: string | null
  readonly keyId: string | null
  readonly keyName: string | null
}

export type UsageQuestion = BoundedSpan & {
  readonly timeZone: string
  readonly bucket: 'hour' | 'day'
  readonly groupBy: 'model' | 'key' | 'model_and_key'
}

type Row = Pick<UsageRow, 'start' | 'model' | 'keyId' | 'keyName'> & {
  readonly [Sum in 'requests' | 'cost' | keyof TokenClasses]: bigint
}

/**
 * What an organization used, oldest first, at most `limit` rows. A day at an end of the span that is not whole begins or
 * ends there. What corrections have taken away altogether is left out.
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
  const start = { hour: 'u.hour', day: `greatest(date_trunc('day', u.hour, $4), $2)` }[bucket]
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
    [organizationId, from, to, ...(bucket === 'day' ? [timeZone] : [])],
  )
  return rows.map(({ start, model, keyId, keyName, requests, cost, ...counted }) => ({
    ...{ start, model, keyId, keyName, requests: Number(requests), cost: nanoRub(cost) },
    tokens: {
      input: Number(counted.input),
      cachedInput: Number(counted.cachedInput),
      cacheWrite: Number(counted.cacheWrite),
      output: Number(counted.output),
      reasoning: Number(counted.reasoning),
    },
  }))
}

/** Everything together. Pure. */
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

/** A span in parts that cut no day of the time zone in two, each of at most so many days; in order. */
export async function readParts(
  client: Queryable,
  { from, to, timeZone }: BoundedSpan & { readonly timeZone: string },
  dayCount: number,
): Promise<readonly BoundedSpan[]> {
  const { rows } = await client.query<{ midnight: Date }>(
    `select day at time zone $3 as midnight
       from generate_series(date_trunc('day', $1::timestamptz at time zone $3), $2::timestamptz at time zone $3,
                            make_interval(days => $4)) day`,
    [from, to, timeZone, dayCount],
  )
  const cuts = rows.map(({ midnight }) => midnight).filter((midnight) => midnight > from && midnight < to)
  const starts = [from, ...cuts]
  return starts.map((start, index) => ({ from: start, to: starts[index + 1] ?? to }))
}
