import type { ClusterObject } from '../../runtime/cluster-object.ts'

/** Marks a Secret as meant for a provider, so that no user can have any other Secret sent to an address. */
const credentialLabel = 'modelgateway.dev/provider-credential'

/** The text of one key of a Secret, or why there is none. */
export type SecretValue =
  | { readonly value: string }
  | { readonly reason: 'SecretNotFound' | 'SecretNotLabelled' | 'KeyNotFound'; readonly message: string }

/** Reads a key of a Secret that a provider refers to. Pure. */
export function secretValueOf(
  secret: ClusterObject | undefined,
  { name, key }: { readonly name: string; readonly key: string },
): SecretValue {
  if (secret === undefined) return { reason: 'SecretNotFound', message: `Secret "${name}" does not exist` }
  if (secret.metadata.labels?.[credentialLabel] !== 'true')
    return {
      reason: 'SecretNotLabelled',
      message: `Secret "${name}" must be labelled ${credentialLabel}=true before it may be sent to a provider`,
    }
  const data = secret.data ?? {}
  const encoded = Object.hasOwn(data, key) ? data[key] : undefined
  const value = encoded === undefined ? '' : Buffer.from(encoded, 'base64').toString('utf8').trim()
  if (value === '')
    return { reason: 'KeyNotFound', message: `Secret "${name}" has no value under the key "${key}"` }
  return { value }
}
