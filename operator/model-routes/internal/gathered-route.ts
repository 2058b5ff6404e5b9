import type { RouteDraft } from '#core/catalog/route-resource'
import type { ClusterResource } from '#core/clusters/cluster-resources'
import type { ObjectName } from '../../runtime/cluster-object.ts'
import type { ServingFacts } from '../route-verdicts.ts'

/** Everything that decides what happens to a ModelRoute, at one moment. */
export type GatheredRoute = ServingFacts & {
  readonly namespace: string
  /** Backends name their providers as the catalog does. */
  readonly draft: RouteDraft | { readonly fault: string }
  /** Whether routes of its namespace are used. */
  readonly isAllowed: boolean
  /** Whether its namespace may offer the model. */
  readonly mayOffer: boolean
  /** Its row, as it was stored before, offers what it may not offer any more: a mistake must not keep it. */
  readonly isStoredForbidden: boolean
  /** An older ModelRoute of this cluster for the same model. */
  readonly older: ObjectName | undefined
  /** Who has the model in the catalog now. `cabinet`: it was created there. */
  readonly holder: 'us' | 'nobody' | 'cabinet' | ClusterResource
  readonly clusterId: string
  /** Ids of the organizations that may use it, by name. Those that do not exist are absent. */
  readonly organizationIds: ReadonlyMap<string, string>
}
