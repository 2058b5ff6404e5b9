import type { Queryable } from '#core/db/pool'
import { type NanoRub, nanoRub } from '#core/ledger/money'
import type { Price } from '#core/ledger/price'

/** The use of a model in whole hours. */
export type ModelUse = {
  readonly from: Date
  readonly to: Date
  readonly requests: bigint
  readonly input: bigint
  readonly cachedInput: bigint
  readonly cacheWrite: bigint
  readonly output: bigint
  readonly reasoning: bigint
  /** What it did cost. */
  readonly cost: bigint
}

/** The use of a model in the last 7 days, and in the hour that runs. Reads the hourly sums of its requests by an index. */
export async function readLastWeek(client: Queryable, model: string): Promise<ModelUse> {
  const { rows } = await client.query<ModelUse>(
    `select date_trunc('hour', now()) - interval '7 days' as from, now() as to,
            coalesce(sum(requests), 0)::bigint as requests, coalesce(sum(input), 0)::bigint as input,
            coalesce(sum(cached_input), 0)::bigint as "cachedInput",
            coalesce(sum(cache_write), 0)::bigint as "cacheWrite", coalesce(sum(output), 0)::bigint as output,
            coalesce(sum(reasoning), 0)::bigint as reasoning, coalesce(sum(cost), 0)::bigint as cost
       from usage_hourly where model = $1 and hour >= date_trunc('hour', now()) - interval '7 days'`,
    [model],
  )
  const [use] = rows
  if (use === undefined) throw new Error('a sum has no row')
  return use
}

/** What the use would have cost: exact, as `costOf` of each request, except that each request has the price per request. Pure. */
export function costOfUse(use: ModelUse, price: Omit<Price, 'id'>): NanoRub {
  return nanoRub(
    use.input * price.input +
      use.cachedInput * (price.cachedInput ?? price.input) +
      use.cacheWrite * (price.cacheWrite ?? price.input) +
      use.output * price.output +
      use.reasoning * (price.reasoning ?? price.output) +
      use.requests * price.perRequest,
  )
}
