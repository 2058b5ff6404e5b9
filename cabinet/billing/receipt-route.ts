import type { Pool } from 'pg'
import { inReadScope } from '#core/audit/scope'
import { isId } from '#core/db/id'
import { receiptMessages } from '#core/ledger/receipt-messages'
import type { HttpRoute } from '#core/process/http-route'
import { receiptOf } from './internal/receipt.ts'
import { findSettledRequest } from './internal/receipt-store.ts'

/** The organization has no settled request with this ID. */
const notFound = {
  code: 'request_not_found',
  message:
    'No receipt has this ID. A receipt is available after its request is settled, normally within a second of the response.',
} as const

/**
 * `GET /v1/requests/{id}`: the receipt of a request of the calling organization. The gateway forwards this route.
 * It needs no balance, because receipts show where the money went. A blocked key cannot read receipts.
 */
export function receiptRoute(
  pool: Pool,
  options: { readonly perMinute: number },
): HttpRoute<'request_not_found'> {
  return {
    method: 'GET',
    // Not `:id`: for long IDs, Fastify would respond 404 before authentication.
    url: '/v1/requests/*',
    access: 'api_key',
    limit: { perMinute: options.perMinute, of: 'receipts' },
    messages: receiptMessages,
    async handle({ caller, params: { '*': id = '' } }) {
      const settled = isId(id)
        ? await inReadScope(pool, caller.organizationId, (client) =>
            findSettledRequest(client, caller.organizationId, id),
          )
        : undefined
      return settled === undefined ? { refusal: notFound } : { body: receiptOf(settled) }
    },
  }
}
