import { type AllowedNamespaces, isAllowed } from '../../catalogue/allowed-namespaces.ts'
import { removeRow } from '../../catalogue/remove-row.ts'
import { keyOf, nameOfKey } from '../../runtime/cluster-object.ts'
import type { FencedDatabase } from '../../runtime/fenced-database.ts'
import type { Reconciled } from '../../runtime/work-queue.ts'
import { findModelOf } from './apply-route.ts'
import type { RouteIndex } from './route-index.ts'

/** Time for an heir to take a model over; then it goes with the object that had it. */
const inheritMs = 2_000

/** Ends what a ModelRoute that is gone has left. */
export type RouteEnds = {
  /** Another ModelRoute for its model takes the row over, so that nobody notices; without one the row goes. */
  end(key: string): Promise<Reconciled>
  /** There is a ModelRoute of this name again. */
  forget(key: string): void
}

export function createRouteEnds(
  deps: FencedDatabase & { readonly allowedNamespaces: AllowedNamespaces },
  index: Pick<RouteIndex, 'oldest' | 'fallingBackTo'>,
  enqueue: (key: string) => void,
): RouteEnds {
  /** Those whose heir had its chance. */
  const bequeathing = new Set<string>()
  return {
    forget: (key) => void bequeathing.delete(key),
    async end(key) {
      const name = nameOfKey(key)
      const model = await findModelOf(deps, name)
      const isSecondLook = bequeathing.delete(key)
      if (model === undefined) return undefined // a mirror's row is the cabinet's: none is noted as ours
      const heir = isSecondLook
        ? undefined
        : index.oldest(model, (each) => isAllowed(deps.allowedNamespaces, each))
      if (heir !== undefined) {
        bequeathing.add(key)
        enqueue(keyOf(heir))
        return { afterMs: inheritMs }
      }
      await removeRow(deps, 'ModelRoute', name)
      for (const each of index.fallingBackTo(model)) enqueue(each)
      return undefined
    },
  }
}
