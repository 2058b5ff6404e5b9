import type { Queryable } from '../db/pool.ts'
import type { Price } from '../ledger/price.ts'
import { priceInForceSql } from '../ledger/price-sql.ts'
import type { StoredRoute } from './catalog-store.ts'

type StoredPrice = Omit<Price, 'id'>

/** A route that was made in the cabinet: no object of any cluster owns it. */
export type CabinetRoute = {
  readonly route: StoredRoute
  /** In force now; `none`: the route cannot be called yet. */
  readonly price: StoredPrice | 'free' | 'none'
  /** Names; `null`: open to all. */
  readonly organizations: readonly string[] | null
}

type Row = {
  readonly document: StoredRoute
  readonly free: boolean
  readonly organizations: readonly string[] | null
} & (StoredPrice | { readonly [Class in keyof StoredPrice]: null })

/** How many routes were made in the cabinet. */
export async function countCabinetRoutes(client: Queryable): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    `select count(*)::int as count from model_routes r where ${madeInCabinet}`,
  )
  return rows[0]?.count ?? 0
}

const madeInCabinet =
  "not exists (select from cluster_resources c where c.kind = 'ModelRoute' and c.subject = r.model)"

/** The oldest routes that were made in the cabinet, at most `limit` of them: what is mirrored. */
export async function listCabinetRoutes(
  client: Queryable,
  { limit }: { readonly limit: number },
): Promise<readonly CabinetRoute[]> {
  const { rows } = await client.query<Row>(
    `select r.document, r.free, p.input, p.cached_input as "cachedInput", p.cache_write as "cacheWrite", p.output,
            p.reasoning, p.per_request as "perRequest",
            case when jsonb_typeof(r.document -> 'organizations') = 'array' then array(
              select o.name from jsonb_array_elements_text(r.document -> 'organizations') with ordinality as a (id, place)
                join organizations o on o.id = a.id::uuid order by a.place) end as organizations
       from model_routes r
       left join lateral (${priceInForceSql('r.model')}) p on true
      where ${madeInCabinet}
      order by r.created_at, r.model limit $1`,
    [limit],
  )
  return rows.map(({ document, free, organizations, ...price }) => ({
    route: document,
    price: free ? 'free' : price.input === null ? 'none' : price,
    organizations,
  }))
}
