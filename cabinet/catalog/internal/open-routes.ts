import type { StoredRoute } from '#core/catalog/catalog-store'
import type { Queryable } from '#core/db/pool'
import { type Price, priceSchema } from '#core/ledger/price'
import { priceInForceSql, priceJsonSql, scheduledPricesSql } from '#core/ledger/price-sql'

/** A model open to all organizations, with its current and its next price. */
export type OpenRoute = Pick<
  StoredRoute,
  'model' | 'type' | 'displayName' | 'description' | 'contextLength' | 'maxOutputTokens'
> & {
  readonly inputModalities: readonly string[]
  /** `null`: unknown. */
  readonly capabilities: readonly string[] | null
  /** Where its providers and those of its fallbacks process requests; `null`: unknown for one of them. */
  readonly countries: readonly string[] | null
  /** `null`: free. */
  readonly price: Price | null
  /** The next scheduled price. */
  readonly next: { readonly price: Price; readonly from: Date } | null
}

type Row = {
  readonly document: Omit<OpenRoute, 'inputModalities' | 'capabilities' | 'countries' | 'price' | 'next'> & {
    readonly inputModalities?: readonly string[]
    readonly capabilities?: readonly string[]
  }
  readonly countries: readonly string[] | null
  readonly free: boolean
  readonly price: unknown
  readonly nextPrice: unknown
  readonly nextFrom: Date | null
}

/** Every route open to all organizations that is free or has a price, by model. */
export async function readOpenRoutes(client: Queryable): Promise<readonly OpenRoute[]> {
  const { rows } = await client.query<Row>(
    `with of_provider as materialized (select * from provider_countries())
     select r.document, r.free, ${priceJsonSql('p')} as price, ${priceJsonSql('n')} as "nextPrice",
            n.valid_from as "nextFrom",
            (select case when bool_and(c.country is not null) then array_agg(distinct c.country order by c.country) end
               from (select r.model union select jsonb_array_elements_text(r.document -> 'fallbacks')) possible (model)
               join model_routes t on t.model = possible.model and t.document -> 'type' = r.document -> 'type',
                    jsonb_array_elements(t.document -> 'backends') backend
               left join of_provider c on c.provider = backend ->> 'provider') as countries
       from model_routes r
       left join lateral (${priceInForceSql('r.model')}) p on true
       left join lateral (${scheduledPricesSql('r.model')} limit 1) n on not r.free
      where jsonb_typeof(r.document -> 'organizations') = 'null' and (r.free or p.id is not null)
      order by r.model`,
  )
  return rows.map(({ document, countries, free, price, nextPrice, nextFrom }) => ({
    ...document,
    // Documents stored before this field existed do not have it.
    inputModalities: document.inputModalities ?? ['text'],
    capabilities: document.capabilities ?? null,
    countries,
    price: free ? null : priceSchema.parse(price),
    next: nextFrom === null ? null : { price: priceSchema.parse(nextPrice), from: nextFrom },
  }))
}
