import type { Pool } from 'pg'
import { findRefusal, type ListedRefusal } from '#core/admission/listed-refusals'
import { type ArchiveStore, ArchiveUnavailable } from '#core/archive/archive-store'
import { isId } from '#core/db/id'
import { quoted } from '#core/errors/quoted'
import { receiptMessages } from '#core/ledger/receipt-messages'
import type { HttpRoute } from '#core/process/http-route'
import { type RedisServers, RedisUnavailable } from '#core/redis/redis-connection'
import { allRequests } from './all-requests.ts'
import { receiptOf } from './internal/receipt.ts'

type Absent = { readonly code: 'request_not_found'; readonly message: string }

const archiveUnavailable = {
  code: 'service_unavailable',
  message: 'Receipts of older requests are stored in an archive, which does not respond. Try again later.',
} as const

/** The organization has no settled request with this ID. */
const notFound: Absent = {
  code: 'request_not_found',
  message:
    'No receipt has this ID. A receipt is available after its request is settled, normally within a second of the response.',
}

type Deps = {
  readonly pool: Pool
  readonly redis: RedisServers
  /** Requests that left Postgres; absent: none should have left. */
  readonly archive?: ArchiveStore | undefined
}

/**
 * `GET /v1/requests/{id}`: the receipt of a request of the calling organization. The gateway forwards this route.
 * It needs no balance, because receipts show where the money went. A blocked key cannot read receipts.
 */
export function receiptRoute(
  { pool, redis, archive }: Deps,
  options: { readonly perMinute: number },
): HttpRoute<'request_not_found' | 'service_unavailable'> {
  const requests = allRequests(pool, archive)
  return {
    method: 'GET',
    // Not `:id`: for long IDs, Fastify would respond 404 before authentication.
    url: '/v1/requests/*',
    access: 'api_key',
    limit: { perMinute: options.perMinute, of: 'receipts' },
    messages: receiptMessages,
    async handle({ caller, params: { '*': id = '' } }) {
      try {
        const settled = isId(id) ? await requests.find(caller.organizationId, id) : undefined
        if (settled !== undefined) return { body: receiptOf(settled) }
        return { refusal: await whyAbsent(redis, caller.organizationId, id) }
      } catch (error) {
        if (error instanceof ArchiveUnavailable) return { refusal: archiveUnavailable }
        throw error
      }
    },
  }
}

/** Whether the request was rejected, if Redis can say. */
async function whyAbsent(redis: RedisServers, organizationId: string, id: string): Promise<Absent> {
  if (!isId(id)) return notFound
  try {
    const rejected = await findRefusal(redis, organizationId, id)
    return rejected === undefined ? notFound : { ...notFound, message: rejectedMessage(rejected) }
  } catch (error) {
    if (error instanceof RedisUnavailable) return notFound
    throw error
  }
}

function rejectedMessage({ code, param, atMs }: ListedRefusal): string {
  const at = new Date(atMs).toISOString()
  const where = param === null ? '' : `, param ${quoted(param)}`
  return `No receipt has this ID: the request was rejected at ${at} (${code}${where}). Rejected requests are not charged.`
}
