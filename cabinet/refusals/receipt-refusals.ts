import { type Refusal, refusal, retrySecondsOf } from './refusal.ts'

/** No settled request of this organization has this id. */
export const requestNotFound = refusal(
  'request_not_found',
  'No receipt has this id. A receipt is available once its request is settled, normally within a second of the answer.',
)

/** More receipts than a key may read in a minute. */
export function tooManyReceipts(limit: number, waitMs: number): Refusal {
  return refusal(
    'rate_limit_exceeded',
    `This API key is limited to ${limit} receipts per minute. Retry in ${retrySecondsOf(waitMs)} s.`,
    { limit, retryAfterMs: waitMs },
  )
}

/** The cabinet, which has the receipts, does not answer, or its Postgres is unavailable. Never a 401. */
export const receiptsUnavailable = refusal(
  'service_unavailable',
  'Receipts are temporarily unavailable; model requests are not affected. Retry in a second.',
  { retryAfterMs: 1000 },
)

/** A bug of ours; the log has the details under the request id. */
export const receiptNotRead = refusal(
  'internal_error',
  'The receipt could not be read because of an internal error. Contact support with the request id.',
)
