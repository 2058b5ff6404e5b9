import type { ProviderDocument } from '#core/catalog/catalog-document'
import type { ProviderDraft } from '#core/catalog/provider-resource'
import type { ClusterResource } from '#core/clusters/cluster-resources'
import type { Replica } from '#core/clusters/replicas'
import type { SecretValue } from './secret-value.ts'

/** Everything that decides what happens to a ModelProvider, at one moment. */
export type GatheredProvider = {
  /** Its name in the catalog. */
  readonly name: string
  readonly namespace: string
  readonly draft: ProviderDraft | { readonly fault: string }
  /** Why its address is not allowed, if it is an IP address. */
  readonly addressProblem: string | undefined
  /** Whether providers of its namespace are used. */
  readonly isAllowed: boolean
  /** Absent: it refers to no Secret. */
  readonly credential: SecretValue | undefined
  readonly caCertificates: SecretValue | undefined
  /** Who has that name in the catalog now. `cabinet`: it was created there. */
  readonly holder: 'us' | 'nobody' | 'cabinet' | ClusterResource
  readonly stored: ProviderDocument | undefined
  readonly replicas: readonly Replica[]
}
