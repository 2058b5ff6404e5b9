import { findSecretProblem } from '#core/catalog/provider-problems'
import type { ProviderDraft } from '#core/catalog/provider-resource'
import { healthOf } from '../../catalog/gateway-verdicts.ts'
import { sentenceOf } from '../../status/spec-fault.ts'
import { no, pending, summaryOf, type Verdict, yes } from '../../status/verdict.ts'
import type { GatheredProvider } from './gathered-provider.ts'
import type { SecretValue } from './secret-value.ts'

/** The change to the row of a ModelProvider, and its conditions. */
export type ProviderPlan = {
  readonly row:
    | {
        readonly is: 'put'
        readonly draft: ProviderDraft
        readonly secrets: {
          readonly credential: string | undefined
          readonly caCertificates: string | undefined
        }
      }
    /** As it is, if there is one: a mistake does not cut off clients that are being served. */
    | { readonly is: 'kept' }
    /** Providers of its namespace are not used, or no longer. */
    | { readonly is: 'removed' }
  readonly verdicts: Readonly<Record<'Accepted' | 'ResolvedRefs' | 'Healthy' | 'Ready', Verdict>>
}

/** Pure. */
export function planProvider(gathered: GatheredProvider): ProviderPlan {
  const { draft, name, replicas, holder, credential, caCertificates } = gathered
  const Accepted = acceptance(gathered)
  const ResolvedRefs = Accepted.status === 'True' ? resolution(gathered) : pending
  const isServed = holder === 'us' || ResolvedRefs.status === 'True'
  const Healthy = isServed ? healthOf(name, remedyOf(draft), replicas) : pending
  // Routes can use a provider that was never called. Otherwise each would wait for the other's first request.
  const counted = Healthy.reason === 'NotTried' ? [Accepted, ResolvedRefs] : [Accepted, ResolvedRefs, Healthy]
  const Ready = summaryOf(counted, yes('Ready', 'Routes can use this provider'))
  const verdicts = { Accepted, ResolvedRefs, Healthy, Ready }
  if (Accepted.reason === 'NamespaceNotAllowed') return { row: { is: 'removed' }, verdicts }
  if (ResolvedRefs.status !== 'True' || 'fault' in draft) return { row: { is: 'kept' }, verdicts }
  const secrets = { credential: textOf(credential), caCertificates: textOf(caCertificates) }
  return { row: { is: 'put', draft, secrets }, verdicts }
}

function acceptance({
  isAllowed,
  namespace,
  draft,
  addressProblem,
  holder,
  name,
}: GatheredProvider): Verdict {
  if (!isAllowed)
    return no(
      'NamespaceNotAllowed',
      `ModelProviders in namespace ${namespace} are ignored: OPERATOR_ROUTES_NAMESPACES does not include it`,
    )
  if ('fault' in draft) return no('InvalidSpec', draft.fault)
  if (addressProblem !== undefined) return no('AddressNotAllowed', addressProblem)
  if (holder === 'cabinet') return no('Conflict', `The cabinet already has a provider named "${name}"`)
  if (typeof holder === 'object')
    return no(
      'Conflict',
      `The provider name "${name}" is already used by ModelProvider ${holder.namespace}/${holder.name} of cluster ${holder.clusterId}`,
    )
  return yes('Accepted')
}

function resolution({ credential, caCertificates, draft }: GatheredProvider): Verdict {
  for (const secret of [credential, caCertificates])
    if (secret !== undefined && 'reason' in secret) return no(secret.reason, secret.message)
  const secrets = { credential: textOf(credential), caCertificates: textOf(caCertificates) }
  const problem = 'fault' in draft ? undefined : findSecretProblem(draft, secrets)
  if (problem !== undefined) return no('KeyNotFound', sentenceOf(problem))
  return yes('ResolvedRefs')
}

/** How to fix a credential that the provider rejects. */
function remedyOf(draft: GatheredProvider['draft']): string {
  if ('fault' in draft) return 'Correct the spec first'
  if (draft.credential === null) return 'It requires a credential: set spec.auth'
  const { name, key } = draft.credential.secretRef
  return `Put a valid credential into Secret "${name}" under the key "${key}"`
}

function textOf(secret: SecretValue | undefined): string | undefined {
  return secret !== undefined && 'value' in secret ? secret.value : undefined
}
