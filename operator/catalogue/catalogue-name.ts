import type { ObjectName } from '../runtime/cluster-object.ts'

/**
 * The name of a ModelProvider in the catalogue: its own in the release namespace, `<namespace>/<name>` elsewhere, so
 * that namespaces cannot take each other's names. Object names contain no slash.
 */
export function catalogueNameOf({ namespace, name }: ObjectName, releaseNamespace: string): string {
  return namespace === releaseNamespace ? name : `${namespace}/${name}`
}

/** The ModelProvider that has this name in the catalogue, if it belongs to this cluster. */
export function objectNameOf(catalogueName: string, releaseNamespace: string): ObjectName {
  const slash = catalogueName.indexOf('/')
  return slash < 0
    ? { namespace: releaseNamespace, name: catalogueName }
    : { namespace: catalogueName.slice(0, slash), name: catalogueName.slice(slash + 1) }
}
