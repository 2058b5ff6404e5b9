import type { ObjectName } from '../runtime/cluster-object.ts'

/**
 * The name of a ModelProvider in the catalog: its own in the release namespace, `<namespace>/<name>` elsewhere, so
 * that namespaces cannot take each other's names. Object names contain no slash.
 */
export function catalogNameOf({ namespace, name }: ObjectName, releaseNamespace: string): string {
  return namespace === releaseNamespace ? name : `${namespace}/${name}`
}

/** The ModelProvider that has this name in the catalog, if it belongs to this cluster. */
export function objectNameOf(catalogName: string, releaseNamespace: string): ObjectName {
  const slash = catalogName.indexOf('/')
  return slash < 0
    ? { namespace: releaseNamespace, name: catalogName }
    : { namespace: catalogName.slice(0, slash), name: catalogName.slice(slash + 1) }
}
