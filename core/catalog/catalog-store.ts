import { randomUUID } from 'node:crypto'
import type { Facts } from '../audit/audit-log.ts'
import type { ScopedClient } from '../audit/scope.ts'
import type { Queryable } from '../db/pool.ts'
import type { Price } from '../ledger/price.ts'
import { priceInForceSql, priceJsonSql, scheduledPricesSql } from '../ledger/price-sql.ts'
import type { ProviderDocument, RouteDocumentJson } from './catalog-document.ts'
import { priceChange, providerChange, routeChange } from './internal/catalog-change.ts'

/** A route as it is stored: its prices and its age have their own columns. */
export type StoredRoute = Omit<RouteDocumentJson, 'price' | 'nextPrice' | 'createdAtS'>

/** A free route may be called without a price; any other one may not. */
export type Pricing = 'priced' | 'free'

export type Catalog = {
  /** Grows with every change, and when a price comes into force. */
  readonly revision: bigint
  readonly providers: readonly ProviderDocument[]
  /** Each with the price version in force, as decimal strings, and the next one. */
  readonly routes: readonly RouteDocumentJson[]
  /** Models that are left out: not free, and no price is in force. */
  readonly unpriced: readonly string[]
}

/** Whether a change was one. `same`: nothing was written, and no revision moved. */
export type Written = 'written' | 'same'

/** Makes or replaces a provider. */
export async function putProvider(client: ScopedClient, provider: ProviderDocument): Promise<Written> {
  const before = await findProvider(client, provider.name)
  const changed = await client.change(
    `insert into model_providers as p (name, document) values ($1, $2)
     on conflict (name) do update set document = excluded.document, updated_at = now()
      where p.document <> excluded.document returning name`,
    [provider.name, JSON.stringify(provider)],
    () => providerChange('put', provider.name, before, provider),
  )
  return writtenOf(changed)
}

/** A provider as it is stored, if it is there. */
export async function findProvider(client: Queryable, name: string): Promise<ProviderDocument | undefined> {
  const { rows } = await client.query<{ document: ProviderDocument }>(
    'select document from model_providers where name = $1',
    [name],
  )
  return rows[0]?.document
}

/** Removes a provider, if it is there. */
export async function removeProvider(client: ScopedClient, name: string): Promise<Written> {
  const removed = await client.change<{ document: ProviderDocument }>(
    'delete from model_providers where name = $1 returning document',
    [name],
    ([before]) => providerChange('remove', name, before?.document, undefined),
  )
  return writtenOf(removed)
}

/** Makes or replaces a route. */
export async function putRoute(client: ScopedClient, route: StoredRoute, pricing: Pricing): Promise<Written> {
  const free = pricing === 'free'
  const changed = await client.change<{ before: Facts | null }>(
    `with before as (select document, free from model_routes where model = $1)
     insert into model_routes as r (model, document, free) values ($1, $2, $3)
     on conflict (model) do update set document = excluded.document, free = excluded.free, updated_at = now()
      where (r.document, r.free) is distinct from (excluded.document, excluded.free)
     returning (select to_jsonb(before) from before) as before`,
    [route.model, JSON.stringify(route), free],
    ([row]) => routeChange('put', route.model, row?.before ?? null, { document: route, free }),
  )
  return writtenOf(changed)
}

/** Removes a route, if it is there. Its prices stay: charges name them. */
export async function removeRoute(client: ScopedClient, model: string): Promise<Written> {
  const removed = await client.change<{ document: object; free: boolean }>(
    'delete from model_routes where model = $1 returning document, free',
    [model],
    ([before]) => routeChange('remove', model, before ?? null, null),
  )
  return writtenOf(removed)
}

function writtenOf(rows: readonly unknown[]): Written {
  return rows.length === 0 ? 'same' : 'written'
}

/**
 * Makes a model cost this from now on and answers the version in force: a new one only when something changed.
 *
 * Versions are never changed. Of two price changes of one model at the same time, one counts last.
 */
export async function putPrice(
  client: ScopedClient,
  model: string,
  price: Omit<Price, 'id'>,
): Promise<{ readonly priceId: string; readonly created: boolean }> {
  const { input, cachedInput, cacheWrite, output, reasoning, perRequest } = price
  const values = [input, cachedInput, cacheWrite, output, reasoning, perRequest]
  const { rows } = await client.query<{ id: string; same: boolean; shown: Facts }>(
    `select id, ${priceJsonSql('in_force')} as shown,
            (input, cached_input, cache_write, output, reasoning, per_request)
              is not distinct from ($2::bigint, $3::bigint, $4::bigint, $5::bigint, $6::bigint, $7::bigint) as same
       from (${priceInForceSql('$1')}) as in_force`,
    [model, ...values],
  )
  const [inForce] = rows
  if (inForce?.same) return { priceId: inForce.id, created: false }
  const priceId = randomUUID()
  await client.change(
    `insert into model_prices (id, model, input, cached_input, cache_write, output, reasoning, per_request)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [priceId, model, ...values],
    () => priceChange(model, inForce?.shown ?? null, { id: priceId, ...price }),
  )
  return { priceId, created: true }
}

/**
 * The catalog's revision now; cheap, for a poll. In the transaction of a change: the revision that contains it,
 * once that is committed.
 */
export async function readCatalogRevision(client: Queryable): Promise<bigint> {
  const { rows } = await client.query<{ revision: bigint }>('select current_catalogue_revision() as revision')
  const [row] = rows
  if (row === undefined) throw new Error('the catalog has no revision')
  return row.revision
}

/**
 * Gives the catalog a revision above this one, which some process already follows, unless it has one.
 * Postgres may have lost that revision (a restore). Workers that lift above the same one at once give the
 * same.
 */
export async function liftCatalogRevision(client: Queryable, above: bigint): Promise<void> {
  await client.query('select lift_catalogue_revision($1)', [above])
}

/** The whole catalog. Its content is at least as new as its revision. */
export async function readCatalog(client: Queryable): Promise<Catalog> {
  const revision = await readCatalogRevision(client)
  const { rows: providers } = await client.query<{ document: ProviderDocument }>(
    'select document from model_providers order by name',
  )
  const { rows: routes } = await client.query<{ document: RouteDocumentJson | null; model: string }>(
    `select r.model,
            case when r.free or p.id is not null then r.document || jsonb_build_object(
              'createdAtS', extract(epoch from r.created_at)::bigint,
              'price', case when not r.free then ${priceJsonSql('p')} end)
              || case when n.id is null then '{}' else jsonb_build_object('nextPrice', jsonb_build_object(
                   'fromMs', ceil(extract(epoch from n.valid_from) * 1000)::bigint, 'price', ${priceJsonSql('n')})) end
            end as document
       from model_routes r
       left join lateral (${priceInForceSql('r.model')}) p on true
       left join lateral (${scheduledPricesSql('r.model')} limit 1) n on not r.free
      order by r.model`,
  )
  return {
    revision,
    providers: providers.map(({ document }) => document),
    routes: routes.flatMap(({ document }) => (document === null ? [] : [document])),
    unpriced: routes.flatMap(({ document, model }) => (document === null ? [model] : [])),
  }
}

/** The providers of the backends of a model's route, each once; none: it has no route. */
export async function findProvidersOf(client: Queryable, model: string): Promise<readonly string[]> {
  const { rows } = await client.query<{ provider: string }>(
    `select distinct backend ->> 'provider' as provider
       from model_routes, jsonb_array_elements(document -> 'backends') as backend
      where model = $1 order by provider`,
    [model],
  )
  return rows.map(({ provider }) => provider)
}

/** Whether there is a route for a model, priced or not. */
export async function isModelStored(client: Queryable, model: string): Promise<boolean> {
  const { rows } = await client.query('select from model_routes where model = $1', [model])
  return rows.length > 0
}
