import type { ProviderDocument } from '#core/catalog/catalog-document'
import { providerSpecOf } from '#core/catalog/provider-resource'
import type { Replica } from '#core/clusters/replicas'
import { troublesOfProvider } from '#core/clusters/reported-troubles'
import type { Queryable } from '#core/db/pool'
import { versionOf } from '../../api/version.ts'
import type { ShownProvider } from '../provider-administration-contracts.ts'
import { type AdministeredModel, showOwner } from './administered-models.ts'

/** A provider of any owner, as an administrator sees it. */
export type AdministeredProvider = {
  /** With its credential, encrypted. */
  readonly document: ProviderDocument
  readonly owner: AdministeredModel['owner']
  readonly modelCount: number
  readonly updatedAt: Date
}

type Row = Omit<AdministeredProvider, 'owner'> & {
  readonly clusterId: string | null
  readonly namespace: string
  readonly name: string
}

/** A page of providers by name. */
export async function listProviders(
  client: Queryable,
  where: { readonly name?: string | undefined; readonly after: string | undefined; readonly limit: number },
): Promise<readonly AdministeredProvider[]> {
  const { rows } = await client.query<Row>(
    `${providersSql} where ($1::text is null or strpos(lower(v.name), lower($1)) > 0)
        and ($2::text is null or v.name > $2) order by v.name limit $3`,
    [where.name ?? null, where.after ?? null, where.limit],
  )
  return rows.map(providerOf)
}

/** A provider; `undefined`: there is none. */
export async function findAdministeredProvider(
  client: Queryable,
  name: string,
): Promise<AdministeredProvider | undefined> {
  const { rows } = await client.query<Row>(`${providersSql} where v.name = $1`, [name])
  return rows.map(providerOf)[0]
}

/** The models with a backend at a provider, by name. */
export async function listModelsAt(
  client: Queryable,
  provider: string,
  limit: number,
): Promise<readonly string[]> {
  const { rows } = await client.query<{ model: string }>(
    `select model from model_routes where ${isAt('$1')} order by model limit $2`,
    [provider, limit],
  )
  return rows.map(({ model }) => model)
}

const isAt = (provider: string) =>
  `document -> 'backends' @> jsonb_build_array(jsonb_build_object('provider', ${provider}::text))`

const providersSql = `
  select v.document, (select count(*)::int from model_routes where ${isAt('v.name')}) as "modelCount",
         c.cluster_id as "clusterId", c.namespace, c.name, v.updated_at as "updatedAt"
    from model_providers v
    left join cluster_resources c on c.kind = 'ModelProvider' and c.subject = v.name`

function providerOf({ clusterId, namespace, name, ...row }: Row): AdministeredProvider {
  return { ...row, owner: clusterId === null ? null : { clusterId, namespace, name } }
}

/** Changes with everything of a provider, its credential included. */
export function versionOfProvider({ document }: AdministeredProvider): string {
  return versionOf(JSON.stringify(document))
}

/** Pure. */
export function showProvider(
  { document, owner, modelCount, updatedAt }: AdministeredProvider,
  replicas: readonly Replica[],
): ShownProvider {
  const { name, api, baseUrl, quirks, auth, caCertificates } = document
  return {
    name,
    api,
    base_url: baseUrl,
    compatibility_profile: quirks ?? null,
    has_credential: auth.type !== 'None',
    has_ca_certificates: caCertificates !== undefined,
    kubernetes: showOwner(owner),
    troubles: [...troublesOfProvider(name, replicas)],
    answering_count: replicas.filter(({ answering }) => answering.includes(name)).length,
    gateway_count: replicas.length,
    model_count: modelCount,
    updated_at: updatedAt.toISOString(),
  }
}

/** The spec of a ModelProvider for it, without references to Secrets. */
export function specOfProvider({ document }: AdministeredProvider): object {
  return providerSpecOf(document)
}
