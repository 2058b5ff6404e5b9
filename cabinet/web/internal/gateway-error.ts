import type { FastifyReply } from 'fastify'

/**
 * Errors of the paths that the gateway forwards here: its shape, its codes and its headers (`contract.md`, Errors),
 * so that the gateway passes them on as they are.
 */
export type GatewayError = {
  readonly status: number
  readonly type: string
  readonly code: string
  readonly source: 'client' | 'gateway'
  readonly message: string
  readonly headers?: Readonly<Record<string, string>>
  readonly limit?: number
}

const neverRetry = { 'x-should-retry': 'false' }

/** Answers with an error of the gateway. */
export function sendGatewayError(reply: FastifyReply, error: GatewayError): void {
  const { status, headers, type, code, source, message, limit } = error
  const body = { message, type, param: null, code, source, request_id: reply.request.id, limit }
  reply
    .code(status)
    .headers(headers ?? neverRetry)
    .send({ error: body })
}

function unauthenticated(code: string, message: string): GatewayError {
  const headers = { ...neverRetry, 'www-authenticate': 'Bearer' }
  return { status: 401, type: 'authentication_error', code, source: 'client', message, headers }
}

/** No `Authorization: Bearer` header. */
export const missingApiKey = unauthenticated(
  'missing_api_key',
  'No API key: send it in the header "Authorization: Bearer sk-gateway-…". The word Bearer is required.',
)

/** A key that cannot exist, or does not. */
export const invalidApiKey = unauthenticated(
  'invalid_api_key',
  'This API key is not known here. Check that it was copied whole; keys start with sk-gateway-.',
)

/** Revoked, or rotated out. */
export const revokedApiKey = unauthenticated(
  'invalid_api_key',
  'This API key was revoked or replaced. Use the current one.',
)

/** Past its end. */
export const expiredApiKey = unauthenticated(
  'expired_api_key',
  'This API key has expired. Make a new one in the cabinet.',
)

const blockers = {
  owner: 'its owner, who can unblock it in the cabinet',
  admin: 'an administrator of this service; ask support',
  kubernetes: 'its ApiKey resource in Kubernetes',
} as const

/** Blocked, by whom. */
export function blockedApiKey(by: keyof typeof blockers): GatewayError {
  const message = `This API key is blocked by ${blockers[by]}.`
  return { status: 403, type: 'permission_error', code: 'api_key_blocked', source: 'client', message }
}

/** No settled request of this organization has this id. */
export const requestNotFound: GatewayError = {
  status: 404,
  type: 'invalid_request_error',
  code: 'request_not_found',
  source: 'client',
  message:
    'There is no receipt with this id. It is there once an admitted request is settled, normally within a second of its answer.',
}

/** More receipts than a key may read in a minute. */
export function tooManyReceipts(limit: number, waitMs: number): GatewayError {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000))
  return {
    status: 429,
    type: 'rate_limit_error',
    code: 'rate_limit_exceeded',
    source: 'client',
    message: `This key may read ${limit} receipts per minute. Retry in ${seconds} s.`,
    headers: { 'retry-after': String(seconds) },
    limit,
  }
}

/** More keys that nobody knows than are looked up in a minute; this one may be good, which takes a look to know. */
export function tooManyUnknownKeys(waitMs: number): GatewayError {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000))
  return {
    ...receiptsUnavailable,
    message: `Too many keys that are not known here were tried in this minute, and this one has not read a receipt lately. Retry in ${seconds} s.`,
    headers: { 'retry-after': String(seconds) },
  }
}

/** Postgres is away. Never a 401. */
export const receiptsUnavailable: GatewayError = {
  status: 503,
  type: 'api_error',
  code: 'service_unavailable',
  source: 'gateway',
  message: 'Receipts cannot be read at the moment. Requests are served on; retry in a second.',
  headers: { 'retry-after': '1' },
}

/** A bug of ours; the log has the rest under the request id. */
export const internalError: GatewayError = {
  status: 500,
  type: 'api_error',
  code: 'internal_error',
  source: 'gateway',
  message: 'The receipt could not be read. Support can find out why by the request id.',
}
