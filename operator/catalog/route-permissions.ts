import { covers } from '#core/keys/allowed-models'
import { selects } from '#crds/label-selector'
import { allowedRoutesOf } from '#crds/model-provider'
import { mayOfferAnnotation } from '#crds/resource'
import { type ClusterObject, keyOf, type ObjectName } from '../runtime/cluster-object.ts'
import type { Reflector } from '../runtime/reflector.ts'
import { type AllowedNamespaces, isAllowed } from './allowed-namespaces.ts'

/**
 * The permissions of routes, as administrators have set them: by namespaces, and by the providers themselves.
 */
export type RoutePermissions = {
  /** Whether routes of this namespace are used at all. */
  isUsed(name: Pick<ObjectName, 'namespace'>): boolean
  /** Whether its namespace may offer this model. */
  mayOffer(name: Pick<ObjectName, 'namespace'>, model: string): boolean
  /**
   * Whether routes of a namespace may use this provider. A provider that does not exist allows no other
   * namespace.
   */
  mayUse(
    name: Pick<ObjectName, 'namespace'>,
    provider: Pick<ObjectName, 'namespace'>,
    object: ClusterObject | undefined,
  ): boolean
}

export type RoutePermissionsDeps = {
  readonly allowedNamespaces: AllowedNamespaces
  readonly releaseNamespace: string
  readonly namespaces: Pick<Reflector, 'find'>
}

export function createRoutePermissions(deps: RoutePermissionsDeps): RoutePermissions {
  const metadataOf = (namespace: string) => deps.namespaces.find(keyOf({ name: namespace }))?.metadata
  const offersOf = (namespace: string) => {
    const { annotations = {} } = metadataOf(namespace) ?? {}
    if (Object.hasOwn(annotations, mayOfferAnnotation)) return annotations[mayOfferAnnotation] ?? ''
    return namespace === deps.releaseNamespace ? '*' : ''
  }
  return {
    isUsed: (name) => isAllowed(deps.allowedNamespaces, name),
    mayOffer: ({ namespace }, model) => isOffered(offersOf(namespace), model),
    mayUse({ namespace }, provider, object) {
      if (provider.namespace === namespace) return true
      if (object === undefined) return false
      const allowed = allowedRoutesOf(object.spec)
      if (allowed.from !== 'Selector') return allowed.from === 'All'
      return selects(allowed.selector, metadataOf(namespace)?.labels ?? {})
    },
  }
}

/** Everything of a namespace that decides what its routes may do, as text. */
export function permissionInput({ metadata }: ClusterObject): string {
  return JSON.stringify([metadata.labels, metadata.annotations?.[mayOfferAnnotation]])
}

/**
 * Whether an annotation covers a model: it lists models, `<prefix>/*` for all whose names begin so, and `*`
 * for all. Any other entry covers nothing. The policy in `deploy/admission.yaml` has the same rule in CEL.
 * Pure.
 */
export function isOffered(annotation: string, model: string): boolean {
  return annotation
    .split(',')
    .map((item) => item.trim())
    .some((item) => item === '*' || covers(item, model))
}

/** The message for a route whose namespace may not offer its model. */
export function mayNotOffer(namespace: string, model: string): string {
  const prefix = model.slice(0, model.indexOf('/'))
  return `Namespace ${namespace} may not offer model ${model}: a cluster admin can add ${prefix}/* to its annotation ${mayOfferAnnotation}`
}
