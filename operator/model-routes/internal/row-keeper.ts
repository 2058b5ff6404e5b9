import { createHash } from 'node:crypto'
import { jsonWithBigints } from '#core/ledger/money'
import type { RowChange } from '../../catalog/catalog-event.ts'
import { removeRow } from '../../catalog/remove-row.ts'
import { type ClusterObject, keyOf } from '../../runtime/cluster-object.ts'
import type { FencedDatabase } from '../../runtime/fenced-database.ts'
import { putRouteRow } from './apply-route.ts'
import type { GatheredRoute } from './gathered-route.ts'
import { planRoute, type RoutePlan } from './plan-route.ts'

/** Keeps the rows of ModelRoutes, and remembers what it wrote: an unchanged route costs no transaction. */
export type RowKeeper = {
  /** Returns the facts after it, and what happened to the row. */
  bring(
    object: ClusterObject,
    before: GatheredRoute,
  ): Promise<{
    readonly now: GatheredRoute
    readonly change: RowChange
  }>
  /** The row may differ from what was written; no key: any row. */
  doubt(key?: string): void
  /** Call when the object is deleted. */
  forget(key: string): void
}

/** @param onWritten called with the revision of each change that was written. */
export function createRowKeeper(deps: FencedDatabase, onWritten: (revision: bigint) => void): RowKeeper {
  const written = new Map<string, string>()
  /** Those whose rows may differ from what was written. */
  const unsure = new Set<string>()
  return {
    async bring(object, before) {
      const { row } = planRoute(before)
      const key = keyOf(object.metadata)
      const digest = row.is === 'put' ? digestOf(object, row) : ''
      const known = written.get(key)
      const isSure = before.holder === 'us' && known === digest && !unsure.has(key)
      if (row.is === 'kept' || isSure) return { now: before, change: 'none' }
      written.delete(key)
      unsure.delete(key)
      if (row.is === 'removed') {
        const { namespace = '', name } = object.metadata
        await removeRow(deps, 'ModelRoute', { namespace, name })
        return { now: { ...before, revision: null }, change: 'none' }
      }
      const put = await putRouteRow(deps, object, row)
      const { revision } = put
      // Another permission or organization makes another row of the same spec.
      const isOurWish = put.change === 'repaired' && known !== undefined && known !== digest
      const change = isOurWish ? 'written' : put.change
      written.set(key, digest)
      if (change !== 'none') onWritten(revision)
      return { now: { ...before, holder: 'us', revision }, change }
    },
    doubt(key) {
      for (const each of key === undefined ? written.keys() : [key]) unsure.add(each)
    },
    forget(key) {
      written.delete(key)
      unsure.delete(key)
    },
  }
}

function digestOf(
  { metadata }: ClusterObject,
  { draft, organizationIds }: Extract<RoutePlan['row'], { is: 'put' }>,
) {
  const all = [metadata.uid, metadata.generation, draft, organizationIds]
  const text = jsonWithBigints(all)
  return createHash('sha256').update(text).digest('base64')
}
