import { routeDocumentSchema } from '#core/catalog/catalog-document'
import { type FallbackFacts, fallbackFacts, readFallbackGraph } from '#core/catalog/fallback-graph'
import { draftRoute, type RouteDraft } from '#core/catalog/route-resource'
import type { Queryable } from '#core/db/pool'
import { findOrganizations } from '#core/organizations/organization-store'
import type { ModelRoute } from '#crds/model-route'
import { type Refused, ruleBroken } from './refusals.ts'

/** A route that can be stored. */
export type CheckedRoute = {
  readonly draft: RouteDraft
  /** `null`: open to all. */
  readonly organizationIds: readonly string[] | null
}

/** What gateways can read; they skip anything else without notice. */
const readable = routeDocumentSchema.omit({ createdAtS: true, price: true, organizations: true })

/** Checks all that a valid spec refers to. Returns the route, or every field that keeps it from being stored. */
export async function checkRoute(
  client: Queryable,
  spec: ModelRoute['spec'],
): Promise<CheckedRoute | { readonly refused: readonly Refused[] }> {
  const draft = draftRoute({ spec })
  const organizations = await findOrganizations(client, draft.organizations ?? [])
  const refused = [
    ...unreadableFields(draft),
    ...missingOrganizations(draft, organizations),
    ...wrongProviders(spec, await findProviders(client, spec)),
    ...wrongFallbacks(draft, fallbackFacts(draft.route, await readFallbackGraph(client))),
    ...wrongPrice(draft),
  ]
  if (refused.length > 0) return { refused }
  return {
    draft,
    organizationIds: draft.organizations?.map((name) => organizations.get(name) ?? '') ?? null,
  }
}

function unreadableFields({ route }: RouteDraft): readonly Refused[] {
  const { error } = readable.safeParse(route)
  return (error?.issues ?? []).map(({ path, message }) => ruleBroken(['spec', ...path].join('.'), message))
}

function missingOrganizations(
  { organizations }: RouteDraft,
  known: ReadonlyMap<string, string>,
): readonly Refused[] {
  return (organizations ?? []).flatMap((name, index) =>
    known.has(name)
      ? []
      : {
          path: `spec.access.organizations.${index}`,
          code: 'not_found',
          en: `there is no organization ${name}`,
          ru: `организации ${name} нет`,
        },
  )
}

async function findProviders(
  client: Queryable,
  { backends }: ModelRoute['spec'],
): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ name: string }>(
    'select name from model_providers where name = any($1)',
    [backends.map(({ providerRef }) => providerRef.name)],
  )
  return new Set(rows.map(({ name }) => name))
}

/** Whether a provider of another namespace allows a route is known only in its cluster. */
function wrongProviders({ backends }: ModelRoute['spec'], known: ReadonlySet<string>): readonly Refused[] {
  return backends.flatMap(({ providerRef: { name, namespace } }, index) => {
    const path = `spec.backends.${index}.providerRef`
    if (namespace !== undefined)
      return {
        path: `${path}.namespace`,
        code: 'not_allowed',
        en: 'must not be set: routes made here use providers of the release namespace and those made here',
        ru: 'не задаётся: созданные здесь модели используют провайдеров, созданных здесь или в пространстве имён релиза',
      }
    if (known.has(name)) return []
    return {
      path: `${path}.name`,
      code: 'not_found',
      en: `there is no provider ${name}`,
      ru: `провайдера ${name} нет`,
    }
  })
}

function wrongFallbacks(
  { route: { fallbacks } }: RouteDraft,
  { missing, otherType, circle }: FallbackFacts,
): readonly Refused[] {
  const path = (model: string) => `spec.fallbacks.${fallbacks.indexOf(model)}`
  return [
    ...missing.map((model) => ({
      path: path(model),
      code: 'not_found',
      en: `there is no model ${model}`,
      ru: `модели ${model} нет`,
    })),
    ...otherType.map((model) => ({
      path: path(model),
      code: 'wrong_type',
      en: `${model} has another type, so it would never be tried`,
      ru: `у модели ${model} другой тип: она не подойдёт`,
    })),
    ...(circle === undefined
      ? []
      : [
          {
            path: 'spec.fallbacks',
            code: 'cycle',
            en: `must not form a cycle: ${circle.join(' → ')}`,
            ru: `образуют цикл: ${circle.join(' → ')}`,
          },
        ]),
  ]
}

/** As the database does, which rejects a price of zero. */
export function wrongPrice({ price }: RouteDraft): readonly Refused[] {
  if (price === null || Object.values(price).some((amount) => amount !== null && amount > 0n)) return []
  return [
    {
      path: 'spec.pricingRubPerMillionTokens',
      code: 'zero',
      en: 'must not be 0 for everything: set free to true instead',
      ru: 'не может быть равна 0 за всё: для бесплатной модели укажите free: true',
    },
  ]
}
