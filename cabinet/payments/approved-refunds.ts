import type { Pool } from 'pg'
import type { Log } from '#core/process/log'
import type { ApprovedRefunds } from '../approvals/approval-endpoints.ts'
import { callRefund } from './internal/calls.ts'
import { noteRefund } from './internal/refund-payment.ts'
import type { Shop } from './shop.ts'

/** Carries out refunds that another administrator has approved. */
export function approvedRefunds({
  pool,
  shop,
  log,
}: {
  readonly pool: Pool
  readonly shop: Shop | undefined
  readonly log: Log
}): ApprovedRefunds {
  return {
    note: async (client, refund) =>
      shop === undefined ? { problem: { code: 'payments_unavailable' } } : noteRefund(client, shop, refund),
    async call(refundId) {
      if (shop !== undefined) await callRefund({ pool, shop: shop.forOneWait(), log }, refundId)
    },
  }
}
