import type { ScopedClient } from '#core/audit/scope'
import { putPrice, putRoute } from '#core/catalog/catalog-store'
import type { Price } from '#core/ledger/price'
import type { ModelRoute } from '#crds/model-route'
import { notFound, type Problem } from '../../api/problem.ts'
import { type AdministeredModel, findModel, showOwner, versionOfModel } from './administered-models.ts'
import { holdCatalog } from './catalog-lock.ts'
import { type CheckedRoute, checkRoute } from './check-route.ts'
import type { Refused } from './refusals.ts'

type Refusal = { readonly refused: readonly Refused[] } | { readonly problem: Problem }

/** Makes a model, and its price, which applies now. Writes nothing if it returns a rejection. */
export async function createModel(
  client: ScopedClient,
  spec: ModelRoute['spec'],
): Promise<AdministeredModel | Refusal> {
  await holdCatalog(client)
  if ((await findModel(client, spec.model)) !== undefined)
    return {
      refused: [
        {
          path: 'spec.model',
          code: 'taken',
          en: 'there is already a model of this name',
          ru: 'такая модель уже есть',
        },
      ],
    }
  return write(client, spec, undefined)
}

/** Replaces the spec of a model, if it still has this version. Another price in the spec applies now. */
export async function updateModel(
  client: ScopedClient,
  {
    model,
    version,
    spec,
  }: { readonly model: string; readonly version: string; readonly spec: ModelRoute['spec'] },
): Promise<AdministeredModel | Refusal> {
  const held = await holdModel(client, model, version)
  if ('problem' in held) return held
  if (spec.model !== model)
    return {
      refused: [
        {
          path: 'spec.model',
          code: 'immutable',
          en: 'is immutable: create a second model instead',
          ru: 'не меняется: создайте вместо этого новую модель',
        },
      ],
    }
  return write(client, spec, held.price ?? undefined)
}

/** A model that may be changed here, and still has this version; no other administrator changes it until the end. */
export async function holdModel(
  client: ScopedClient,
  name: string,
  version: string,
): Promise<AdministeredModel | { readonly problem: Problem }> {
  await holdCatalog(client)
  const model = await findModel(client, name)
  if (model === undefined) return notFound
  if (model.owner !== null) return managedByCluster(model.owner)
  return versionOfModel(model) === version ? model : { problem: { code: 'precondition_failed' } }
}

/** Rejects changes of what an object in a cluster defines, and names it. */
export function managedByCluster(owner: NonNullable<AdministeredModel['owner']>): {
  readonly problem: Problem
} {
  return { problem: { code: 'managed_by_cluster', facts: { ...showOwner(owner) } } }
}

async function write(
  client: ScopedClient,
  spec: ModelRoute['spec'],
  before: Price | undefined,
): Promise<AdministeredModel | Refusal> {
  const checked = await checkRoute(client, spec)
  if ('refused' in checked) return checked
  const { draft, organizationIds }: CheckedRoute = checked
  const { route, price } = draft
  // The price that was read may be replaced by a scheduled one at this moment: only another one is written.
  if (price !== null && !isSamePrice(price, before)) await putPrice(client, route.model, price)
  const organizations = organizationIds === null ? null : [...organizationIds]
  await putRoute(client, { ...route, organizations }, price === null ? 'free' : 'priced')
  const written = await findModel(client, route.model)
  if (written === undefined) throw new Error(`model ${route.model} was not written`)
  return written
}

function isSamePrice(price: Omit<Price, 'id'>, before: Price | undefined): boolean {
  const classes = ['input', 'cachedInput', 'cacheWrite', 'output', 'reasoning', 'perRequest'] as const
  return before !== undefined && classes.every((each) => price[each] === before[each])
}
