/** Who has to change something: the caller, us, or the provider behind us. */
type Source = 'client' | 'gateway' | 'upstream'

/** Every code an error body may carry, with its status, type and source. */
const rows = {
  missing_api_key: [401, 'authentication_error', 'client'],
  invalid_api_key: [401, 'authentication_error', 'client'],
  expired_api_key: [401, 'authentication_error', 'client'],
  api_key_blocked: [403, 'permission_error', 'client'],
  insufficient_balance: [402, 'insufficient_quota', 'client'],
  request_exceeds_balance: [402, 'insufficient_quota', 'client'],
  request_exceeds_budget: [402, 'insufficient_quota', 'client'],
  balance_reserved: [429, 'rate_limit_error', 'client'],
  budget_reserved: [429, 'rate_limit_error', 'client'],
  daily_budget_exceeded: [429, 'insufficient_quota', 'client'],
  rate_limit_exceeded: [429, 'rate_limit_error', 'client'],
  request_too_large_for_tpm: [400, 'invalid_request_error', 'client'],
  request_exceeds_max_cost: [402, 'insufficient_quota', 'client'],
  request_not_found: [404, 'invalid_request_error', 'client'],
  model_not_found: [404, 'invalid_request_error', 'client'],
  model_not_allowed: [403, 'permission_error', 'client'],
  wrong_model_type: [400, 'invalid_request_error', 'client'],
  invalid_json: [400, 'invalid_request_error', 'client'],
  invalid_value: [400, 'invalid_request_error', 'client'],
  // Only for requests with `x-gateway-strict-params`.
  unsupported_parameter: [400, 'invalid_request_error', 'client'],
  unsupported_media_type: [415, 'invalid_request_error', 'client'],
  request_too_large: [413, 'invalid_request_error', 'client'],
  context_length_exceeded: [400, 'invalid_request_error', 'upstream'],
  content_policy_violation: [400, 'invalid_request_error', 'upstream'],
  upstream_error: [502, 'api_error', 'upstream'],
  upstream_overloaded: [503, 'api_error', 'upstream'],
  upstream_timeout: [504, 'api_error', 'upstream'],
  service_unavailable: [503, 'api_error', 'gateway'],
  // Errors of HTTP itself, and our own.
  unknown_url: [404, 'invalid_request_error', 'client'],
  method_not_allowed: [405, 'invalid_request_error', 'client'],
  malformed_request: [400, 'invalid_request_error', 'client'],
  request_timeout: [408, 'invalid_request_error', 'client'],
  headers_too_large: [431, 'invalid_request_error', 'client'],
  internal_error: [500, 'api_error', 'gateway'],
} as const satisfies Record<string, readonly [status: number, type: string, source: Source]>

/** What a program reads to tell one error from another. */
export type RefusalCode = keyof typeof rows

/** An error answer, ready to be written. It contains no key, no upstream address and no stack trace. */
export type Refusal = {
  readonly status: number
  readonly type: string
  readonly code: RefusalCode
  /** Field (`messages[0].role`) or header that the caller has to change. */
  readonly param: string | null
  readonly message: string
  readonly source: Source
  readonly headers: Readonly<Record<string, string>>
  /** The limit that was hit and what counts against it: tokens or requests, or roubles as a decimal string. */
  readonly limit?: number | string
  readonly used?: number | string
  /** ISO 8601, UTC. */
  readonly resetsAt?: string
  /** The largest `max_tokens` that would be affordable. */
  readonly affordableMaxTokens?: number
}

type Details = Partial<
  Pick<Refusal, 'param' | 'source' | 'limit' | 'used' | 'resetsAt' | 'affordableMaxTokens' | 'headers'>
> & {
  /** Milliseconds after which a retry makes sense; absent if none will within a minute. */
  readonly retryAfterMs?: number
}

/** Longest wait, in seconds, that SDKs honour: openai-node 7 ignores a longer one. */
export const retryAfterSecondsMax = 60

/** A refusal of this code, with the status and type that the table gives it. */
export function refusal(code: RefusalCode, message: string, details: Details = {}): Refusal {
  const { retryAfterMs, headers, ...rest } = details
  const [status, type, source] = rows[code]
  return {
    status,
    type,
    code,
    param: null,
    message,
    source,
    ...rest,
    headers: { ...headers, ...retryHeaders(retryAfterMs) },
  }
}

/** SDKs retry 408, 409, 429 and ≥ 500 by default; they are told not to when a retry within a minute cannot succeed. */
function retryHeaders(retryAfterMs: number | undefined): Record<string, string> {
  if (retryAfterMs === undefined) return { 'x-should-retry': 'false' }
  const seconds = retrySecondsOf(retryAfterMs)
  const retryAfter = { 'retry-after': String(seconds) }
  return seconds > retryAfterSecondsMax ? { ...retryAfter, 'x-should-retry': 'false' } : retryAfter
}

/** A wait as `Retry-After` says it: whole seconds, at least one. */
export function retrySecondsOf(retryAfterMs: number): number {
  return Math.max(1, Math.ceil(retryAfterMs / 1000))
}

/** The error body in OpenAI's shape, as JSON text. */
export function errorBody(refusal: Refusal, requestId: string): string {
  const { message, type, param, code, source, limit, used, resetsAt, affordableMaxTokens } = refusal
  return JSON.stringify({
    error: {
      ...{ message, type, param, code, source, request_id: requestId, limit, used },
      resets_at: resetsAt,
      affordable_max_tokens: affordableMaxTokens,
    },
  })
}
