import type { Queryable } from '#core/db/pool'
import { hasKeyBudget, keyBudgetUses } from '#core/ledger/key-budget-uses'
import { todaySql } from '#core/ledger/key-day'
import { type NanoRub, nanoRub } from '#core/ledger/money'
import type { BudgetPeriod } from '#core/ledger/spend-window'

export type DaySums = {
  readonly start: Date
  readonly end: Date
  readonly requests: number
  readonly cost: NanoRub
}

export type Overview = {
  readonly timeZone: string
  readonly today: DaySums
  readonly yesterday: DaySums
  readonly hasKey: boolean
  /** When the first settled request was admitted; `null` if there is none. */
  readonly firstRequestAt: Date | null
}

type Row = Pick<Overview, 'timeZone' | 'hasKey' | 'firstRequestAt'> & {
  readonly [Cut in 'yesterday' | 'today' | 'tomorrow']: Date
} & {
  readonly [Sum in 'requestsToday' | 'costToday' | 'requestsYesterday' | 'costYesterday']: bigint
}

/** An organization's usage today and yesterday, in its time zone. */
export async function readOverview(client: Queryable, organizationId: string): Promise<Overview> {
  const { rows } = await client.query<Row>(
    `with cut as (
       select o.id, o.time_zone, o.first_request_at, day, (day - interval '1 day') at time zone o.time_zone as yesterday,
              day at time zone o.time_zone as today, (day + interval '1 day') at time zone o.time_zone as tomorrow
         from organizations o, lateral (select date_trunc('day', now() at time zone o.time_zone) as day) d
        where o.id = $1
     )
     select c.time_zone as "timeZone", c.yesterday, c.today, c.tomorrow, u.*,
            exists (select from api_keys where organization_id = $1 and revoked_at is null) as "hasKey",
            coalesce(c.first_request_at, (select min(ts) from requests where organization_id = $1)) as "firstRequestAt"
       from cut c, lateral (
         select coalesce(sum(requests) filter (where hour >= c.today), 0)::bigint as "requestsToday",
                coalesce(sum(cost) filter (where hour >= c.today), 0)::bigint as "costToday",
                coalesce(sum(requests) filter (where hour < c.today), 0)::bigint as "requestsYesterday",
                coalesce(sum(cost) filter (where hour < c.today), 0)::bigint as "costYesterday"
           from usage_hourly where organization_id = $1 and hour >= c.yesterday and hour < c.tomorrow) u`,
    [organizationId],
  )
  const [row] = rows
  if (row === undefined) throw new Error(`Organization ${organizationId} does not exist`)
  const { timeZone, hasKey, firstRequestAt, yesterday, today, tomorrow } = row
  return {
    timeZone,
    hasKey,
    firstRequestAt,
    today: sumsOf(today, tomorrow, row.requestsToday, row.costToday),
    yesterday: sumsOf(yesterday, today, row.requestsYesterday, row.costYesterday),
  }
}

function sumsOf(start: Date, end: Date, requests: bigint, cost: bigint): DaySums {
  return { start, end, requests: Number(requests), cost: nanoRub(cost) }
}

export type KeyNearBudget = {
  readonly keyId: string
  readonly name: string
  /** Of its budgets, the one of which it has spent the highest share. */
  readonly period: BudgetPeriod
  readonly budget: NanoRub
  readonly spent: NanoRub
}

/**
 * At most `limit` keys that have spent 80% or more of a budget of the day, week, month or in total, the highest share
 * first. Reads the days of each key with a budget once.
 */
export async function readKeysNearBudget(
  client: Queryable,
  organizationId: string,
  limit: number,
): Promise<readonly KeyNearBudget[]> {
  const { rows } = await client.query<
    Pick<KeyNearBudget, 'keyId' | 'name' | 'period'> & Record<'budget' | 'spent', bigint>
  >(
    `select n."keyId", n.name, n.period, n.budget, n.spent from (
       select distinct on (k.id) k.id as "keyId", k.name, p.period, p.limit_nano as budget, p.spent,
              p.spent / p.limit_nano::numeric as share
         from api_keys k join organizations o on o.id = k.organization_id ${keyBudgetUses(todaySql('o.time_zone'))}
        where k.organization_id = $1 and k.revoked_at is null and ${hasKeyBudget}
          and p.spent >= p.limit_nano::numeric * 0.8
        order by k.id, share desc) n
      order by n.share desc, n."keyId" limit $2`,
    [organizationId, limit],
  )
  return rows.map(({ budget, spent, ...row }) => ({ ...row, budget: nanoRub(budget), spent: nanoRub(spent) }))
}
