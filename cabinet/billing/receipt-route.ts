import type { Pool } from 'pg'
import { inReadScope } from '../audit/scope.ts'
import { isId } from '../db/id.ts'
import type { HttpRoute } from '../process/http-route.ts'
import { receiptOf } from './internal/receipt.ts'
import { findSettledRequest } from './internal/receipt-store.ts'
import { receiptMessages } from './receipt-messages.ts'

/** No settled request of this organization has this id. */
const notFound = {
  code: 'request_not_found',
  message:
    'No receipt has this id. A receipt is available once its request is settled, normally within a second of the answer.',
} as const

/** `GET /v1/requests/{id}`: the receipt of one of the calling organization's requests. The gateway forwards it. */
export function receiptRoute(
  pool: Pool,
  options: { readonly perMinute: number },
): HttpRoute<'request_not_found'> {
  return {
    method: 'GET',
    // Not `:id`: Fastify would answer 404 by itself, without asking who calls, where an id is long.
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
