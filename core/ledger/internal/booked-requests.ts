import type { Queryable } from '../../db/pool.ts'
import { addCounted, countedRequests } from './checked-sums.ts'
import { keptFrom } from './kept-from.ts'
import { recomputedCost } from './recomputed-cost.ts'
import { breachCountMax } from './touched-checks.ts'
import type { InvariantName } from './whole-checks.ts'

/**
 * The invariants of a request; one statement checks them all, because reading a request costs more than
 * checking it.
 */
export const requestInvariants = [
  'request_is_charged_once',
  'request_costs_what_the_ledger_took',
  'charge_is_tokens_times_price',
] as const satisfies readonly InvariantName[]

type RequestBreach = {
  readonly name: (typeof requestInvariants)[number]
  readonly thing: string
  readonly sample: string
}

/**
 * Adds these requests to what the looks have counted, and checks them and these `others`. Each request and its rows of the
 * ledger are read once, below `lateral` and by an index, whatever the planner believes of the tables.
 */
export async function lookAtRequests(
  client: Queryable,
  booked: readonly string[],
  others: readonly string[],
): Promise<readonly RequestBreach[]> {
  const ids = [...new Set([...booked, ...others])]
  if (ids.length === 0) return []
  const known = new Set(booked)
  const { rows } = await client.query<RequestBreach>(look, [ids, ids.map((id) => known.has(id))])
  return rows
}

const look = `
  with r as materialized (
    select t.id as asked, t.is_booked, r.*
      from (select id, is_booked, uuid_time(id) as ts from unnest($1::uuid[], $2::boolean[]) u (id, is_booked) offset 0) t
      left join lateral (select * from requests where id = t.id and ts = t.ts offset 0) r on true
  ), counted as (
    ${addCounted(`select ${countedRequests}, true from r where r.is_booked and r.id is not null group by 1, 2, 3, 4`)}
  ), checked as (
    select r.asked as id, r.cost, l.charges, l.taken, priced.cost as recomputed,
           l.charges > 1 as is_charged_twice,
           (r.id is not null or (l.taken is not null and uuid_time(r.asked) >= ${keptFrom})) and r.cost is distinct from coalesce(l.taken, 0) as is_taken_otherwise,
           r.cost <> 0 and r.record ->> 'outcome' <> 'swept' and r.cost <> priced.cost as is_priced_otherwise
      from r
     cross join lateral (select count(*) filter (where kind = 'charge') as charges, -sum(amount) as taken
                           from balance_ledger where ref_id = r.asked and kind in ('charge', 'adjust')) l
      left join lateral (select * from model_prices where id = (r.record ->> 'priceId')::uuid offset 0) p on true
      ${recomputedCost}
  )
  select b.name, jsonb_build_object('id', c.id)::text as thing,
         jsonb_build_object('id', c.id, 'cost', c.cost, 'charges', c.charges, 'taken', c.taken, 'recomputed', c.recomputed)::text
           as sample
    from checked c
   cross join lateral (values ('request_is_charged_once', c.is_charged_twice),
                              ('request_costs_what_the_ledger_took', c.is_taken_otherwise),
                              ('charge_is_tokens_times_price', c.is_priced_otherwise)) b (name, is_broken)
   where (c.is_charged_twice or c.is_taken_otherwise or c.is_priced_otherwise) and b.is_broken
   limit ${breachCountMax}`
