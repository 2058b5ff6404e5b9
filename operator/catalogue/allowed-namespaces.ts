import type { ObjectName } from '../runtime/cluster-object.ts'

/** Namespaces whose routes and providers count. */
export type AllowedNamespaces = 'all' | readonly string[]

/** Whether a route or provider of this namespace counts. */
export function isAllowed(
  namespaces: AllowedNamespaces,
  { namespace }: Pick<ObjectName, 'namespace'>,
): boolean {
  return namespaces === 'all' || namespaces.includes(namespace)
}
