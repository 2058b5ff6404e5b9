import { group, version } from '#crds/resource'

/** A kind of object and its path at the API server. */
export type Resource = {
  /** Empty: the core group. */
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly kind: string
}

const ours = { group, version }
const core = { group: '', version: 'v1' }

export const apiKeys: Resource = { ...ours, plural: 'apikeys', kind: 'ApiKey' }
export const apiKeyQuotas: Resource = { ...ours, plural: 'apikeyquotas', kind: 'ApiKeyQuota' }
export const modelProviders: Resource = { ...ours, plural: 'modelproviders', kind: 'ModelProvider' }
export const modelRoutes: Resource = { ...ours, plural: 'modelroutes', kind: 'ModelRoute' }
export const secrets: Resource = { ...core, plural: 'secrets', kind: 'Secret' }
export const namespaces: Resource = { ...core, plural: 'namespaces', kind: 'Namespace' }
export const events: Resource = { group: 'events.k8s.io', version: 'v1', plural: 'events', kind: 'Event' }
export const leases: Resource = {
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
}

/** The `apiVersion` of this resource's objects. */
export function apiVersionOf({ group, version }: Resource): string {
  return group === '' ? version : `${group}/${version}`
}

/** Path of all objects of a resource: in one namespace, or in all (or in none) where `namespace` is empty. */
export function collectionPath(resource: Resource, namespace: string): string {
  const root = resource.group === '' ? '/api' : '/apis'
  const inside = namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`
  return `${root}/${apiVersionOf(resource)}${inside}/${resource.plural}`
}

/** Path of one object. */
export function objectPath(
  resource: Resource,
  { namespace, name }: { readonly namespace?: string; readonly name: string },
): string {
  return `${collectionPath(resource, namespace ?? '')}/${encodeURIComponent(name)}`
}
