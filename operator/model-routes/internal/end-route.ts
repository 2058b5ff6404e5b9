import { removeRow } from '../../catalog/remove-row.ts'
import type { RoutePermissions } from '../../catalog/route-permissions.ts'
import { keyOf, nameOfKey } from '../../runtime/cluster-object.ts'
import type { FencedDatabase } from '../../runtime/fenced-database.ts'
import type { Reconciled } from '../../runtime/work-queue.ts'
import { findModelOf } from './apply-route.ts'
import type { RouteIndex } from './route-index.ts'

/** Time for another ModelRoute to take a model over; after that its row is removed. */
const inheritMs = 2_000

/** Cleans up after a deleted ModelRoute. */
export type RouteEnds = {
  /** Another ModelRoute for its model takes the row over without interruption. If there is none, the row is removed. */
  end(key: string): Promise<Reconciled>
  /** There is a ModelRoute of this name again. */
  forget(key: string): void
}

export function createRouteEnds(
  deps: FencedDatabase & { readonly permissions: Pick<RoutePermissions, 'isUsed' | 'mayOffer'> },
  index: Pick<RouteIndex, 'oldest'>,
  enqueue: (key: string) => void,
): RouteEnds {
  const { isUsed, mayOffer } = deps.permissions
  /** Those whose successor has been asked to take over. */
  const bequeathing = new Set<string>()
  return {
    forget: (key) => void bequeathing.delete(key),
    async end(key) {
      const name = nameOfKey(key)
      const model = await findModelOf(deps, name)
      const isSecondLook = bequeathing.delete(key)
      // the row of a mirror belongs to the cabinet and is not recorded as the cluster's
      if (model === undefined) return undefined
      const heir = isSecondLook
        ? undefined
        : index.oldest(model, (each) => isUsed(each) && mayOffer(each, model))
      if (heir !== undefined) {
        bequeathing.add(key)
        enqueue(keyOf(heir))
        return { afterMs: inheritMs }
      }
      await removeRow(deps, 'ModelRoute', name)
      return undefined
    },
  }
}
