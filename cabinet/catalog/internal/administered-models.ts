import type { StoredRoute } from '#core/catalog/catalog-store'
import { routeSpecOf } from '#core/catalog/route-resource'
import type { KeyOwner } from '#core/clusters/cluster-resources'
import type { Replica } from '#core/clusters/replicas'
import { troublesOfBackend } from '#core/clusters/reported-troubles'
import type { Queryable } from '#core/db/pool'
import { type Price, priceSchema } from '#core/ledger/price'
import { priceInForceSql, priceJsonSql, scheduledPricesSql } from '#core/ledger/price-sql'
import { versionOf } from '../../api/version.ts'
import { shownPrice } from '../../billing/shown-price.ts'
import type { ShownModel } from '../model-administration-contracts.ts'

/** A route of any owner, as an administrator sees it. */
export type AdministeredModel = {
  readonly route: StoredRoute
  readonly free: boolean
  /** In force now; `null`: free, or none. */
  readonly price: Price | null
  /** Those that wait for their time, the next one first. */
  readonly scheduled: readonly { readonly price: Price; readonly from: Date }[]
  /** Names; `null`: all. */
  readonly organizations: readonly string[] | null
  /** `null`: made in the cabinet. */
  readonly owner: Pick<KeyOwner, 'clusterId' | 'namespace' | 'name'> | null
  /** Those of its providers that the catalog has. */
  readonly providers: readonly string[]
  readonly updatedAt: Date
}

type Row = Omit<AdministeredModel, 'price' | 'scheduled' | 'owner'> & {
  readonly price: unknown
  readonly scheduled: readonly { readonly price: unknown; readonly from: string }[]
  readonly clusterId: string | null
  readonly namespace: string
  readonly name: string
}

/** A page of models by name. */
export async function listModels(
  client: Queryable,
  where: { readonly name?: string | undefined; readonly after: string | undefined; readonly limit: number },
): Promise<readonly AdministeredModel[]> {
  const { rows } = await client.query<Row>(
    `${modelsSql} where ($1::text is null or strpos(lower(r.model), lower($1)) > 0)
        and ($2::text is null or r.model > $2) order by r.model limit $3`,
    [where.name ?? null, where.after ?? null, where.limit],
  )
  return rows.map(modelOf)
}

/** A model and what it costs now; `undefined`: there is none. */
export async function findModel(client: Queryable, model: string): Promise<AdministeredModel | undefined> {
  const { rows } = await client.query<Row>(`${modelsSql} where r.model = $1`, [model])
  return rows.map(modelOf)[0]
}

const modelsSql = `
  select r.document as route, r.free, case when not r.free and p.id is not null then ${priceJsonSql('p')} end as price,
         case when r.free then '[]' else (
           select coalesce(jsonb_agg(jsonb_build_object('price', ${priceJsonSql('s')}, 'from', s.valid_from)
                           order by s.valid_from), '[]') from (${scheduledPricesSql('r.model')}) s) end as scheduled,
         case when jsonb_typeof(r.document -> 'organizations') = 'array' then array(
           select o.name from jsonb_array_elements_text(r.document -> 'organizations') with ordinality as a (id, place)
             join organizations o on o.id = a.id::uuid order by a.place) end as organizations,
         array(select v.name from model_providers v where v.name in (
           select backend ->> 'provider' from jsonb_array_elements(r.document -> 'backends') backend)) as providers,
         c.cluster_id as "clusterId", c.namespace, c.name, r.updated_at as "updatedAt"
    from model_routes r
    left join lateral (${priceInForceSql('r.model')}) p on true
    left join cluster_resources c on c.kind = 'ModelRoute' and c.subject = r.model`

function modelOf({ price, scheduled, clusterId, namespace, name, ...row }: Row): AdministeredModel {
  return {
    ...row,
    price: price === null ? null : priceSchema.parse(price),
    scheduled: scheduled.map((each) => ({
      price: priceSchema.parse(each.price),
      from: new Date(each.from),
    })),
    owner: clusterId === null ? null : { clusterId, namespace, name },
  }
}

/** Changes with everything of a model that an administrator may change, and when a price comes into force. */
export function versionOfModel({ route, free, price, scheduled }: AdministeredModel): string {
  return versionOf(JSON.stringify([route, free, price?.id ?? null, scheduled.map((each) => each.price.id)]))
}

/** Pure. */
export function showModel(
  { route, free, price, scheduled, organizations, owner, providers, updatedAt }: AdministeredModel,
  replicas: readonly Replica[],
): ShownModel {
  const [next] = scheduled
  return {
    model: route.model,
    type: route.type,
    display_name: route.displayName,
    free,
    pricing: price === null ? null : shownPrice(price),
    next_pricing: next === undefined ? null : shownPrice(next.price),
    next_pricing_from: next === undefined ? null : next.from.toISOString(),
    kubernetes: showOwner(owner),
    backends: route.backends.map((backend) => ({
      ...backend,
      provider_exists: providers.includes(backend.provider),
      troubles: [...troublesOfBackend(backend, replicas)],
    })),
    fallbacks: [...route.fallbacks],
    organizations: organizations === null ? null : [...organizations],
    updated_at: updatedAt.toISOString(),
  }
}

/** The object that owns a route or provider, as named in responses and problems. */
export function showOwner(owner: AdministeredModel['owner']) {
  if (owner === null) return null
  const { clusterId, namespace, name } = owner
  return { cluster: clusterId, namespace, name }
}

/** The spec of a ModelRoute for it, as an administrator reads and changes it. Pure. */
export function specOfModel({ route, free, price, organizations }: AdministeredModel): object {
  return routeSpecOf({ route, price: free ? 'free' : (price ?? 'none'), organizations })
}
