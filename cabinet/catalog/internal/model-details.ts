import type { Queryable } from '#core/db/pool'
import { priceSchema } from '#core/ledger/price'
import { priceInForceSql, priceJsonSql, scheduledPricesSql } from '#core/ledger/price-sql'
import { addDurations, type DurationCounts, percentileMs } from '../../billing/durations.ts'
import { shownPrice } from '../../billing/shown-price.ts'
import type { ModelDetails, PricedModel } from '../catalog-contracts.ts'

/** A price that everyone could see, or will. */
type PublicPrice = {
  readonly price: unknown
  readonly state: ModelDetails['prices'][number]['state']
  readonly from: Date
}

/** The measurements of a model in an hour. Busy hours have a sample. */
type MeasuredHour = {
  readonly hour: Date
  readonly requests: bigint
  readonly failed: bigint
  /** Requests by class of time, from class 0. */
  readonly firstContents: readonly bigint[]
  readonly durations: readonly bigint[]
}

/** What the catalog and the measurements have on a model. */
export type Details = {
  readonly prices: readonly PublicPrice[]
  readonly hours: readonly MeasuredHour[]
  readonly at: Date
}

/** Earlier prices on a page: more than a year of monthly changes. */
const pastMax = 38

/** Reads a model's prices and the measurements of 7 days: two short reads by indexes. */
export async function readDetails(client: Queryable, model: string): Promise<Details> {
  const prices = await readPublicPrices(client, model)
  const { rows: hours } = await client.query<MeasuredHour>(
    `select hour, requests, failed, first_contents as "firstContents", durations from model_hours
      where model = $1 and hour >= date_trunc('hour', now()) - interval '7 days' order by hour`,
    [model],
  )
  return { prices, hours, at: new Date() }
}

/** The next price, the one in force, and the last ones that were in force while the model was open to all. */
async function readPublicPrices(client: Queryable, model: string): Promise<readonly PublicPrice[]> {
  const { rows } = await client.query<PublicPrice>(
    `with now as materialized (${priceInForceSql('$1')}),
          past as (select p.*, lead(p.valid_from) over (order by p.valid_from, p.seq) as ended_at from model_prices p
                    where p.model = $1 and p.canceled_at is null and p.valid_from <= clock_timestamp())
     (select ${priceJsonSql('n')} as price, 'scheduled' as state, n.valid_from as from
        from (${scheduledPricesSql('$1')} limit 1) n)
     union all
     (select ${priceJsonSql('now')}, 'in_force', now.valid_from from now)
     union all
     (select ${priceJsonSql('p')}, 'past', p.valid_from from past p join model_routes r using (model)
       where p.ended_at > r.opened_at and p.id not in (select id from now)
       order by p.valid_from desc, p.seq desc limit $2)`,
    [model, pastMax],
  )
  return rows
}

/** The models that are gone and were open to all, each with the fallbacks that it had. */
export async function readSuccessors(client: Queryable): Promise<ReadonlyMap<string, readonly string[]>> {
  const { rows } = await client.query<{ model: string; fallbacks: readonly string[] }>(
    'select model, fallbacks from removed_models where is_open order by removed_at desc limit $1',
    [removedMax],
  )
  return new Map(rows.map(({ model, fallbacks }) => [model, fallbacks]))
}

/** Removed models whose pages still answer with their successors: the last ones. */
const removedMax = 5_000

/** Pure. */
export function shownDetails({ free }: PricedModel, { prices, hours, at }: Details): ModelDetails {
  const shown = free ? [] : prices.map(shownVersion)
  return {
    prices: shown.toSorted((one, other) => other.valid_from.localeCompare(one.valid_from)),
    last_week: {
      from: new Date(at.getTime() - weekMs).toISOString(),
      to: at.toISOString(),
      ...summaryOf(hours),
    },
    status: statusOf(hours.filter(({ hour }) => hour.getTime() > at.getTime() - 2 * hourMs)),
  }
}

const hourMs = 3_600_000
const weekMs = 7 * 24 * hourMs

function shownVersion({ price, state, from }: PublicPrice): ModelDetails['prices'][number] {
  return { state, pricing: shownPrice(priceSchema.parse(price)), valid_from: from.toISOString() }
}

/** Fewer measurements are no percentile, and no share. */
const measuredMin = 20n
/** Fewer have no 5 that were slower. */
const slowestMeasuredMin = 100n

function summaryOf(hours: readonly MeasuredHour[]) {
  const requests = sumOf(hours.map((each) => each.requests))
  const failed = sumOf(hours.map((each) => each.failed))
  return {
    failed_share: requests < measuredMin ? null : Number((failed * 10_000n) / requests) / 10_000,
    first_token_ms: percentilesOf(hours.map(({ firstContents }) => countsOf(firstContents))),
    duration_ms: percentilesOf(hours.map(({ durations }) => countsOf(durations))),
  }
}

const countsOf = (counts: readonly bigint[]): DurationCounts =>
  new Map(counts.flatMap((count, at) => (count > 0n ? [[at, Number(count)] as const] : [])))

function percentilesOf(
  hours: readonly DurationCounts[],
): { readonly p50: number; readonly p95: number | null } | null {
  const counts = addDurations(hours)
  const count = [...counts.values()].reduce((sum, each) => sum + each, 0)
  const [p50, p95] = [percentileMs(counts, 0.5), percentileMs(counts, 0.95)]
  return count < measuredMin || p50 === null ? null : { p50, p95: count < slowestMeasuredMin ? null : p95 }
}

/** With fewer requests in the last hours, a state would be a guess. */
const recentMin = 20n

/** How a model works now. Pure. */
function statusOf(recent: readonly MeasuredHour[]): ModelDetails['status'] {
  const requests = sumOf(recent.map((each) => each.requests))
  const failed = sumOf(recent.map((each) => each.failed))
  if (requests < recentMin) return 'no_data'
  if (failed * 2n >= requests) return 'failing'
  return failed * 20n >= requests ? 'degraded' : 'operational'
}

const sumOf = (counts: readonly bigint[]) => counts.reduce((sum, each) => sum + each, 0n)
