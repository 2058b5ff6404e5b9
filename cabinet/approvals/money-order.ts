import type { ScopedClient } from '#core/audit/scope'
import type { NanoRub } from '#core/ledger/money'
import type { Administrator } from '../api/access.ts'
import type { ShownApproval } from './approval-contracts.ts'
import { needsApproval } from './internal/needs-approval.ts'
import {
  findOrder,
  holdAdministrator,
  insertOrder,
  isRuleOn,
  type NewOrder,
  readDoneAlone,
} from './internal/order-store.ts'
import { showApproval } from './internal/shown-approval.ts'
import { belongsTo } from './own-organization.ts'

/**
 * Records an adjustment, refund or write-off of an administrator, and decides whether the caller carries it out now.
 *
 * An approval is returned if another administrator must approve first: nothing else may be done then. Of two orders of
 * one administrator at once, the second one sees the first.
 *
 * @param aloneMax what one administrator may move for one organization in 24 hours.
 */
export async function orderMoney(
  client: ScopedClient,
  administrator: Administrator,
  order: Omit<NewOrder, 'orderedBy'>,
  aloneMax: NanoRub,
): Promise<ShownApproval | 'carry_out'> {
  const { administratorId } = administrator
  const { organizationId, amount } = order
  await holdAdministrator(client, administratorId)
  const because = needsApproval({
    isRuleOn: await isRuleOn(client),
    isOwn: await belongsTo(client, administrator, organizationId),
    amount,
    doneAlone: await readDoneAlone(client, { administratorId, organizationId }),
    aloneMax,
  })
  await insertOrder(client, { ...order, orderedBy: administratorId }, because)
  if (because === undefined) return 'carry_out'
  return getApproval(client, order.id)
}

/** A request for approval as the API returns it. @throws Error if there is none of this id */
export async function getApproval(client: ScopedClient, id: string): Promise<ShownApproval> {
  const stored = await findOrder(client, id)
  if (stored === undefined) throw new Error(`order ${id} does not exist`)
  return showApproval(stored)
}
