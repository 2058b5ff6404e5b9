import type { Queryable } from '#core/db/pool'
import { type NanoRub, nanoRub } from '#core/ledger/money'

export type Spent = { readonly requests: number; readonly cost: NanoRub }

export type Spending = {
  readonly timeZone: string
  readonly from: Date
  readonly to: Date
  readonly total: Spent
  /** Every day, the oldest first; `day` is a date in the time zone. */
  readonly days: readonly (Spent & { readonly day: string })[]
  /** The highest cost first. */
  readonly keys: readonly (Spent & { readonly keyId: string; readonly name: string | null })[]
  readonly models: readonly (Spent & { readonly model: string })[]
}

const dayCount = 30

type Row = {
  readonly kind: 'days' | 'keys' | 'models'
  /** A date, the id of a key, or a model. */
  readonly id: string
  readonly name: string | null
  readonly requests: bigint
  readonly cost: bigint
}

/** The last 30 days of an organization in its time zone, of one key if named; at most `topMax` keys and models. */
export async function readSpending(
  client: Queryable,
  organizationId: string,
  keyId: string | undefined,
  topMax: number,
): Promise<Spending> {
  const span = await readDays(client, organizationId)
  // Joined to its days afterwards, so that each hour is read once and by the index of the organization.
  const { rows } = await client.query<Row>(
    `with spent as materialized (
       select (hour at time zone $4)::date as day, api_key_id, model, sum(requests) as requests, sum(cost) as cost
         from usage_hourly
        where organization_id = $1 and hour >= $2 and hour < $3 ${keyId === undefined ? '' : 'and api_key_id = $6'}
        group by 1, 2, 3),
     keys as (
       select api_key_id, sum(requests) as requests, sum(cost) as cost from spent
        group by 1 having sum(cost) > 0 order by cost desc, api_key_id limit $5),
     models as (
       select model, sum(requests) as requests, sum(cost) as cost from spent
        group by 1 having sum(cost) > 0 order by cost desc, model limit $5)
     select 'days' as kind, day::text as id, null as name, sum(requests)::bigint as requests, sum(cost)::bigint as cost
       from spent group by day
     union all
     select 'keys', u.api_key_id::text, k.name, u.requests::bigint, u.cost::bigint
       from keys u left join api_keys k on k.id = u.api_key_id and k.organization_id = $1
     union all
     select 'models', model, null, requests::bigint, cost::bigint from models`,
    [organizationId, span.from, span.to, span.timeZone, topMax, ...(keyId === undefined ? [] : [keyId])],
  )
  return spendingOf(span, rows)
}

type Days = Pick<Spending, 'timeZone' | 'from' | 'to'> & { readonly dates: readonly string[] }

async function readDays(client: Queryable, organizationId: string): Promise<Days> {
  const { rows } = await client.query<Days>(
    `select time_zone as "timeZone", (today - ${dayCount - 1})::timestamp at time zone time_zone as "from",
            (today + 1)::timestamp at time zone time_zone as "to",
            array(select (today - n)::text from generate_series(${dayCount - 1}, 0, -1) n) as dates
       from organizations, lateral (select (now() at time zone time_zone)::date as today) t where id = $1`,
    [organizationId],
  )
  const [days] = rows
  if (days === undefined) throw new Error(`Organization ${organizationId} does not exist`)
  return days
}

/** Pure. */
function spendingOf({ dates, ...span }: Days, rows: readonly Row[]): Spending {
  const of = (kind: Row['kind']) =>
    rows
      .filter((row) => row.kind === kind)
      .map(({ id, name, requests, cost }) => ({ id, name, requests: Number(requests), cost: nanoRub(cost) }))
      .toSorted((one, other) => (one.cost < other.cost ? 1 : one.cost > other.cost ? -1 : 0))
  const spentOn = new Map(of('days').map(({ id, requests, cost }) => [id, { requests, cost }]))
  const days = dates.map((day) => ({ day, ...(spentOn.get(day) ?? nothing) }))
  return {
    ...span,
    total: days.reduce(add, nothing),
    days,
    keys: of('keys').map(({ id, ...spent }) => ({ keyId: id, ...spent })),
    models: of('models').map(({ id, requests, cost }) => ({ model: id, requests, cost })),
  }
}

const nothing: Spent = { requests: 0, cost: nanoRub(0n) }

function add(one: Spent, other: Spent): Spent {
  return { requests: one.requests + other.requests, cost: nanoRub(one.cost + other.cost) }
}
