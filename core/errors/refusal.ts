import type { BudgetPeriod, BudgetScope } from '../ledger/spend-window.ts'

/** Who has to change something: the caller, us, or the provider behind us. */
type Source = 'client' | 'gateway' | 'upstream'

/** Every code an error body may carry, with its status, type and source. */
export const errorRows = {
  /** There is no `Authorization: Bearer` header, and no `x-api-key`. */
  missing_api_key: [401, 'authentication_error', 'client'],
  /** The key is malformed, unknown, revoked or replaced by a rotation. */
  invalid_api_key: [401, 'authentication_error', 'client'],
  /** The key has expired. */
  expired_api_key: [401, 'authentication_error', 'client'],
  /** The key is blocked by its owner, an administrator or its ApiKey resource. */
  api_key_blocked: [403, 'permission_error', 'client'],
  /** The organization's balance is zero or negative. */
  insufficient_balance: [402, 'insufficient_quota', 'client'],
  /** The request's maximum cost is above the balance, even with no other request in progress. */
  request_exceeds_balance: [402, 'insufficient_quota', 'client'],
  /** The request's maximum cost is above what is left of a budget. */
  request_exceeds_budget: [402, 'insufficient_quota', 'client'],
  /** Requests in progress hold the balance that the request needs. Retry. */
  balance_reserved: [429, 'rate_limit_error', 'client'],
  /** Requests in progress hold the part of a budget that the request needs. Retry. */
  budget_reserved: [429, 'rate_limit_error', 'client'],
  /** A budget other than the key's daily one is spent; `budget` and `period` name it, `resets_at` is when it renews. */
  budget_exceeded: [402, 'insufficient_quota', 'client'],
  /** The key's daily budget is spent; `resets_at` is when it renews. */
  daily_budget_exceeded: [429, 'insufficient_quota', 'client'],
  /** The key's RPM or TPM limit is reached. */
  rate_limit_exceeded: [429, 'rate_limit_error', 'client'],
  /** The request's token bound is above the key's entire TPM limit. */
  request_too_large_for_tpm: [400, 'invalid_request_error', 'client'],
  /** The maximum cost is above `x-gateway-max-cost-rub`. */
  request_exceeds_max_cost: [402, 'insufficient_quota', 'client'],
  /** No settled request of this organization has this id. */
  request_not_found: [404, 'invalid_request_error', 'client'],
  /** No stored response of this key has this id, or it has expired. */
  response_not_found: [404, 'invalid_request_error', 'client'],
  /** The model is not in the catalog, or not open to this organization. */
  model_not_found: [404, 'invalid_request_error', 'client'],
  /** The model is not on the key's list. */
  model_not_allowed: [403, 'permission_error', 'client'],
  /** The key may not be used from the client's address. */
  ip_not_allowed: [403, 'permission_error', 'client'],
  /** An embedding model was used for chat, or the reverse. */
  wrong_model_type: [400, 'invalid_request_error', 'client'],
  /** The body is not JSON. */
  invalid_json: [400, 'invalid_request_error', 'client'],
  /** A field is missing or has a wrong type or value; `param` names it. */
  invalid_value: [400, 'invalid_request_error', 'client'],
  /** No backend supports every parameter. Only with `x-gateway-strict-params`. */
  unsupported_parameter: [400, 'invalid_request_error', 'client'],
  /** The content type is not JSON. */
  unsupported_media_type: [415, 'invalid_request_error', 'client'],
  /** The body is too large. */
  request_too_large: [413, 'invalid_request_error', 'client'],
  /** The prompt is longer than the model's context. */
  context_length_exceeded: [400, 'invalid_request_error', 'upstream'],
  /** The provider's content policy rejected the request. */
  content_policy_violation: [400, 'invalid_request_error', 'upstream'],
  /** Every attempt at a provider failed. */
  upstream_error: [502, 'api_error', 'upstream'],
  /** All providers are overloaded or limit the rate. */
  upstream_overloaded: [503, 'api_error', 'upstream'],
  /** The deadline of the request expired. */
  upstream_timeout: [504, 'api_error', 'upstream'],
  /** Redis is unavailable, the catalog is not loaded, or memory is full. Retry, unless a stream ended with it: that is charged. */
  service_unavailable: [503, 'api_error', 'gateway'],
  /** The URL does not exist. The message suggests the likely one. */
  unknown_url: [404, 'invalid_request_error', 'client'],
  /** The URL exists, but not with this method. */
  method_not_allowed: [405, 'invalid_request_error', 'client'],
  /** The URL does not support WebSocket. Use HTTP. */
  upgrade_required: [426, 'invalid_request_error', 'client'],
  /** The request is not valid HTTP. */
  malformed_request: [400, 'invalid_request_error', 'client'],
  /** The request did not arrive in time. */
  request_timeout: [408, 'invalid_request_error', 'client'],
  /** The headers are too large. */
  headers_too_large: [431, 'invalid_request_error', 'client'],
  /** The gateway has a bug. Report the request id. */
  internal_error: [500, 'api_error', 'gateway'],
} as const satisfies Record<string, readonly [status: number, type: string, source: Source]>

/** The error code, for programs. */
export type RefusalCode = keyof typeof errorRows

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
  /** The client's address, where it is the reason; it is in the message. */
  readonly ip?: string
  /** Whose budget was hit, and for which period. */
  readonly budget?: BudgetScope
  readonly period?: BudgetPeriod
  /** The limit that was hit and what counts against it: tokens or requests, or rubles as a decimal string. */
  readonly limit?: number | string
  readonly used?: number | string
  /** Reserved for requests in progress. */
  readonly held?: number | string
  /** The least that the request may take. */
  readonly needed?: number | string
  /** ISO 8601, UTC. */
  readonly resetsAt?: string
  /** The largest `max_tokens` that would be affordable. */
  readonly affordableMaxTokens?: number
  /** Where the documentation explains the code. */
  readonly docUrl?: string
}

type Details = Partial<
  Pick<
    Refusal,
    | 'param'
    | 'ip'
    | 'source'
    | 'budget'
    | 'period'
    | 'limit'
    | 'used'
    | 'held'
    | 'needed'
    | 'resetsAt'
    | 'affordableMaxTokens'
    | 'headers'
  >
> & {
  /** Milliseconds after which a retry makes sense; absent if none will within a minute. */
  readonly retryAfterMs?: number
}

/** Longest wait, in seconds, that SDKs honour: openai-node 7 ignores a longer one. */
export const retryAfterSecondsMax = 60

/** A rejection of this code, with the status and type that the table gives it. */
export function refusal(code: RefusalCode, message: string, details: Details = {}): Refusal {
  const { retryAfterMs, headers, ...rest } = details
  const [status, type, source] = errorRows[code]
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

/**
 * SDKs retry 408, 409, 429 and ≥ 500 by default. This header stops them if a retry within a minute cannot
 * succeed.
 */
function retryHeaders(retryAfterMs: number | undefined): Record<string, string> {
  if (retryAfterMs === undefined) return { 'x-should-retry': 'false' }
  const seconds = retrySecondsOf(retryAfterMs)
  const retryAfter = { 'retry-after': String(seconds) }
  return seconds > retryAfterSecondsMax ? { ...retryAfter, 'x-should-retry': 'false' } : retryAfter
}

/** A wait in the format of `Retry-After`: whole seconds, at least one. */
export function retrySecondsOf(retryAfterMs: number): number {
  return Math.max(1, Math.ceil(retryAfterMs / 1000))
}

/** The same with the address of its explanation in the cabinet's documentation: in English, as the message is. */
export function withDocUrl(refusal: Refusal, cabinetUrl: string | undefined): Refusal {
  if (cabinetUrl === undefined) return refusal
  return { ...refusal, docUrl: `${cabinetUrl}/en/docs/errors#${refusal.code}` }
}

/** The error body in OpenAI's shape, as JSON text. */
export function errorBody(refusal: Refusal, requestId: string): string {
  const {
    message,
    type,
    param,
    code,
    source,
    budget,
    period,
    limit,
    used,
    held,
    needed,
    resetsAt,
    affordableMaxTokens,
    docUrl,
  } = refusal
  return JSON.stringify({
    error: {
      message,
      type,
      param,
      code,
      source,
      request_id: requestId,
      budget,
      period,
      limit,
      used,
      held,
      needed,
      resets_at: resetsAt,
      affordable_max_tokens: affordableMaxTokens,
      doc_url: docUrl,
    },
  })
}
