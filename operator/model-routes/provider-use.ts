import type { ClusterResource } from '#core/clusters/cluster-resources'
import type { ClusterObject } from '../runtime/cluster-object.ts'
import { conditionsOf } from '../runtime/conditions.ts'

/** Whether gateways can use a provider for a route, and from which catalog revision on. */
export type ProviderUse =
  | { readonly is: 'usable'; readonly revision: bigint }
  | { readonly is: 'unusable'; readonly problem: string }
  /** It is of another namespace and does not allow routes of this one, or is not there. */
  | { readonly is: 'forbidden'; readonly problem: string }
  /** The ModelProvider has not been checked yet. */
  | { readonly is: 'awaited'; readonly problem: string }

/**
 * The state of a provider that a route names, by the catalog and the cluster. The stored row counts even
 * while its ModelProvider is invalid: the last good version stays in use. Pure.
 *
 * @param owner of the row; `null`: it was created in the cabinet, `undefined`: there is none.
 */
export function useOf(
  name: string,
  object: ClusterObject | undefined,
  owner: Pick<ClusterResource, 'clusterId' | 'revision'> | null | undefined,
  clusterId: string,
): ProviderUse {
  if (object === undefined)
    return owner === null
      ? { is: 'usable', revision: 0n }
      : { is: 'unusable', problem: `ModelProvider "${name}" does not exist` }
  if (owner?.clusterId === clusterId) return { is: 'usable', revision: owner.revision ?? 0n }
  const refused = conditionsOf(object).find(
    ({ type, status }) => status === 'False' && (type === 'Accepted' || type === 'ResolvedRefs'),
  )
  return refused === undefined
    ? { is: 'awaited', problem: `ModelProvider "${name}" has not been checked yet` }
    : { is: 'unusable', problem: `ModelProvider "${name}": ${refused.message}` }
}

/**
 * For a provider of another namespace that does not allow the route. The message must not reveal whether the
 * provider exists.
 */
export function forbiddenUse(name: string, namespace: string): ProviderUse {
  return {
    is: 'forbidden',
    problem: `ModelProvider "${name}" does not exist, or its spec.allowedRoutes does not allow routes of namespace ${namespace}`,
  }
}
