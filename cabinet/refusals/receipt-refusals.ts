import { type Refusal, refusal, retrySecondsOf } from './refusal.ts'

/** No settled request of this organization has this id. */
export const requestNotFound = refusal(
  'request_not_found',
  'There is no receipt with this id. It is there once an admitted request is settled, normally within a second of its answer.',
)

/** More receipts than a key may read in a minute. */
export function tooManyReceipts(limit: number, waitMs: number): Refusal {
  return refusal(
    'rate_limit_exceeded',
    `This key may read ${limit} receipts per minute. Retry in ${retrySecondsOf(waitMs)} s.`,
    { limit, retryAfterMs: waitMs },
  )
}

/** More keys that nobody knows than are looked up in a minute; this one may be good, which takes a look to know. */
export function tooManyUnknownKeys(waitMs: number): Refusal {
  return refusal(
    'service_unavailable',
    `Too many keys that are not known here were tried in this minute, and this one has not read a receipt lately. Retry in ${retrySecondsOf(waitMs)} s.`,
    { retryAfterMs: waitMs },
  )
}

/** The cabinet, which has the receipts, does not answer, or its Postgres is away. Never a 401. */
export const receiptsUnavailable = refusal(
  'service_unavailable',
  'Receipts cannot be read at the moment. Requests are served on; retry in a second.',
  { retryAfterMs: 1000 },
)

/** A bug of ours; the log has the rest under the request id. */
export const receiptNotRead = refusal(
  'internal_error',
  'The receipt could not be read. Support can find out why by the request id.',
)
