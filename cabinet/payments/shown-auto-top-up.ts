import type { Queryable } from '#core/db/pool'
import type { ShownAutoTopUp } from './auto-top-up-contracts.ts'
import { readAutoTopUp } from './internal/auto-top-up-store.ts'

/** The automatic top-ups of any organization, as administrators see them. */
export function showAutoTopUp(client: Queryable, organizationId: string): Promise<ShownAutoTopUp> {
  return readAutoTopUp(client, organizationId)
}
