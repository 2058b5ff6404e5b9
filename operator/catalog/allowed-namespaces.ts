import type { ObjectName } from '../runtime/cluster-object.ts'

/** Namespaces whose routes and providers are used. */
export type AllowedNamespaces = 'all' | readonly string[]

/** Whether a route or provider of this namespace is used. */
export function isAllowed(
  namespaces: AllowedNamespaces,
  { namespace }: Pick<ObjectName, 'namespace'>,
): boolean {
  return namespaces === 'all' || namespaces.includes(namespace)
}
