import type { Queryable } from '#core/db/pool'
import { type Price, priceSchema } from '#core/ledger/price'
import { priceJsonSql } from '#core/ledger/price-sql'
import type { RequestRecord } from '#core/ledger/request-record'
import { isStatus } from './merged-activity.ts'
import type { RequestFilter } from './request-rows.ts'

/** Requests of an organization that left Postgres: from its first request until `keptFrom`, which is not part of them. */
export type OlderReach = { readonly keptFrom: Date; readonly firstRequestAt: Date }

/** `undefined`: none of the organization's requests left, or not the one with this id. */
export async function findOlderReach(
  client: Queryable,
  organizationId: string,
  requestId?: string,
): Promise<OlderReach | undefined> {
  const { rows } = await client.query<OlderReach>(
    `select a.kept_from as "keptFrom", o.first_request_at as "firstRequestAt"
       from archive a cross join organizations o
      where o.id = $1 and a.kept_from is not null and o.first_request_at is not null
        and ($2::uuid is null or (uuid_time($2) >= o.first_request_at and uuid_time($2) < a.kept_from))`,
    [organizationId, requestId ?? null],
  )
  return rows[0]
}

/** Whether the record matches what the archive has no columns for. Pure. */
export function isWantedRecord(
  { attempts, status, outcome, errorCode }: RequestRecord,
  filter: RequestFilter,
): boolean {
  return (
    (filter.provider === undefined || (attempts.at(-1)?.provider.toLowerCase() || '-') === filter.provider) &&
    (filter.status === undefined ||
      (filter.status === 'error' ? isFailed(status, outcome) : isStatus(status, filter.status))) &&
    (filter.errorCode === undefined || errorCode === filter.errorCode)
  )
}

/** As `is_failed` in SQL. */
function isFailed(status: number, outcome: RequestRecord['outcome']): boolean {
  return outcome === 'upstream_cut' || (status >= 400 && status !== 499)
}

/** The price that a request was posted at; `null` if nothing ran or the model is free. */
export async function findPrice(client: Queryable, priceId: string | null): Promise<Price | null> {
  if (priceId === null) return null
  const { rows } = await client.query<{ price: unknown }>(
    `select ${priceJsonSql('p')} as price from model_prices p where p.id = $1`,
    [priceId],
  )
  return priceSchema.nullable().parse(rows[0]?.price ?? null)
}
