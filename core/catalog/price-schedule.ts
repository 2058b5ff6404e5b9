import { randomUUID } from 'node:crypto'
import type { ScopedClient } from '../audit/scope.ts'
import type { Queryable } from '../db/pool.ts'
import type { Price } from '../ledger/price.ts'
import { priceInForceSql, priceJsonSql } from '../ledger/price-sql.ts'
import { cancellationChange, scheduleChange } from './internal/catalog-change.ts'

/** `in_force`: now. `scheduled`: waits for its time. `canceled`: never comes into force. `past`: was replaced. */
type PriceState = 'in_force' | 'scheduled' | 'canceled' | 'past'

/** One version of what a model costs. */
export type PriceVersion = {
  readonly price: unknown
  readonly state: PriceState
  /** From when on it applies, or would have. */
  readonly from: Date
  readonly canceledAt: Date | null
  /** In the order of writing. */
  readonly seq: bigint
}

/** Seconds before its time in which a scheduled price can no longer be canceled: gateways must hear of it before. */
const tooLateS = 15

/**
 * Schedules what a model costs from `from` on, until the next price. `taken`: another price waits for the same moment.
 *
 * Gateways get it in advance, and apply it at its time even if no worker runs then.
 */
export async function schedulePrice(
  client: ScopedClient,
  model: string,
  price: Omit<Price, 'id'>,
  from: Date,
): Promise<'scheduled' | 'taken'> {
  const { input, cachedInput, cacheWrite, output, reasoning, perRequest } = price
  const id = randomUUID()
  const { rows } = await client.query<{ shown: Readonly<Record<string, unknown>> }>(
    `select ${priceJsonSql('p')} as shown from (${priceInForceSql('$1')}) p`,
    [model],
  )
  const written = await client.change(
    `insert into model_prices (id, model, scheduled, valid_from, input, cached_input, cache_write, output, reasoning, per_request)
     values ($1, $2, true, $3, $4, $5, $6, $7, $8, $9)
     on conflict (model, valid_from) where scheduled and canceled_at is null do nothing returning id`,
    [id, model, from, input, cachedInput, cacheWrite, output, reasoning, perRequest],
    () => scheduleChange(model, rows[0]?.shown ?? null, { id, from: from.toISOString(), ...price }),
  )
  return written.length === 0 ? 'taken' : 'scheduled'
}

/** Cancels a scheduled price of a model, which then never comes into force. */
export async function cancelPrice(
  client: ScopedClient,
  model: string,
  priceId: string,
): Promise<'canceled' | 'not_found' | 'too_late'> {
  const { rows } = await client.query<{ isLate: boolean }>(
    `select valid_from < clock_timestamp() + make_interval(secs => $3) as "isLate" from model_prices
      where id = $1 and model = $2 and scheduled and canceled_at is null`,
    [priceId, model, tooLateS],
  )
  const [found] = rows
  if (found === undefined) return 'not_found'
  if (found.isLate) return 'too_late'
  const canceled = await client.change<{ shown: Readonly<Record<string, unknown>>; from: Date }>(
    `update model_prices p set canceled_at = clock_timestamp() where id = $1 and canceled_at is null
     returning ${priceJsonSql('p')} as shown, valid_from as from`,
    [priceId],
    ([row]) => cancellationChange(model, { ...row?.shown, from: row?.from.toISOString() }),
  )
  return canceled.length === 0 ? 'not_found' : 'canceled'
}

/** What a model has cost, costs and will cost, the last written version first. */
export async function readPriceHistory(
  client: Queryable,
  model: string,
  place: { readonly before: bigint | undefined; readonly limit: number },
): Promise<readonly PriceVersion[]> {
  const { rows } = await client.query<PriceVersion>(
    `select ${priceJsonSql('p')} as price, p.valid_from as from, p.canceled_at as "canceledAt", p.seq,
            case when p.canceled_at is not null then 'canceled'
                 when p.scheduled and p.valid_from > clock_timestamp() then 'scheduled'
                 when p.id = (select id from (${priceInForceSql('$1')}) now) then 'in_force' else 'past' end as state
       from model_prices p
      where p.model = $1 and ($2::bigint is null or p.seq < $2) order by p.seq desc limit $3`,
    [model, place.before ?? null, place.limit],
  )
  return rows
}
