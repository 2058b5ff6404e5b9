import type { ProviderDocument } from '#cabinet/catalogue/catalogue-document'
import type { ProviderDraft } from '#cabinet/catalogue/provider-resource'
import type { ClusterResource } from '#cabinet/clusters/cluster-resources'
import type { Replica } from '#cabinet/clusters/replicas'
import type { SecretValue } from './secret-value.ts'

/** Everything that decides what becomes of a ModelProvider, at one moment. */
export type GatheredProvider = {
  /** Its name in the catalogue. */
  readonly name: string
  readonly namespace: string
  readonly draft: ProviderDraft | { readonly fault: string }
  /** Why no provider may be at its address, if it is a literal one. */
  readonly addressProblem: string | undefined
  /** Whether providers of its namespace count. */
  readonly isAllowed: boolean
  /** Absent: it refers to none. */
  readonly credential: SecretValue | undefined
  readonly caCertificates: SecretValue | undefined
  /** Who has that name in the catalogue now; `cabinet`: it was made there. */
  readonly holder: 'us' | 'nobody' | 'cabinet' | ClusterResource
  readonly stored: ProviderDocument | undefined
  readonly replicas: readonly Replica[]
}
