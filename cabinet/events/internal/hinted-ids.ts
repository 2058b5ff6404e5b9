import type { Hint } from '#core/db/change-hints'
import type { ServerEvent } from '../../api/endpoint.ts'

type OrganizationHint = Extract<Hint, { readonly kind: 'of_organization' }>
type Ids = { readonly keys: Set<string>; readonly payments: Set<string> }

/** Hints collected since they were last taken. */
export type HintedIds = {
  add(hint: OrganizationHint): void
  /** Returns the events of each organization, and starts again with an empty collection. */
  take(): (organizationId: string) => readonly ServerEvent[]
}

/** Maximum number of IDs sent one by one. Above it, a page reads its lists again. */
const idsMax = 20

export const resync: ServerEvent = { name: 'resync', data: {} }

export function createHintedIds(): HintedIds {
  let hinted = new Map<string, Ids>()
  return {
    add({ what, organizationId, id }) {
      const ids = hinted.get(organizationId) ?? { keys: new Set(), payments: new Set() }
      hinted.set(organizationId, ids)
      if (ids[what].size <= idsMax) ids[what].add(id)
    },
    take() {
      const taken = hinted
      hinted = new Map()
      return (organizationId) => eventsOf(taken.get(organizationId))
    },
  }
}

function eventsOf(ids: Ids | undefined): readonly ServerEvent[] {
  if (ids === undefined) return []
  const { keys, payments } = ids
  if (keys.size > idsMax || payments.size > idsMax) return [resync]
  return [
    ...[...keys].map((id) => ({ name: 'keys', data: { id } })),
    ...[...payments].map((id) => ({ name: 'payments', data: { id } })),
  ]
}
