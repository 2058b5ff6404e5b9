import type { RefusalCode } from '#core/errors/refusal'

/** What to do about each error of the gateway, in English. */
export const remediesInEnglish: Readonly<Record<RefusalCode, string>> = {
  missing_api_key: 'Send the key as `Authorization: Bearer …`, or as `x-api-key` with an Anthropic client.',
  invalid_api_key:
    'Copy the key again. If it was lost, revoked or rotated, create a new one on the page Keys.',
  expired_api_key: 'Create a new key, or one that does not expire.',
  api_key_blocked:
    'Ask an owner of the organization to unblock the key. An ApiKey resource is unblocked in its cluster.',
  insufficient_balance: 'Top up the balance. Requests work again as soon as the payment is credited.',
  request_exceeds_balance:
    'Lower `max_tokens` to at most `affordable_max_tokens`, shorten the prompt, choose a model with lower prices, or top up the balance.',
  request_exceeds_budget:
    'Lower `max_tokens` to at most `affordable_max_tokens`, wait until the budget renews, or ask an owner to raise it.',
  balance_reserved: 'Retry after `Retry-After`. If it happens often, run fewer requests at once or top up.',
  budget_reserved: 'Retry after `Retry-After`. If it happens often, run fewer requests at once.',
  budget_exceeded: 'Wait until `resets_at`, or ask an owner to raise the budget.',
  daily_budget_exceeded: 'Wait until `resets_at`, or raise the daily budget of the key.',
  rate_limit_exceeded:
    'Retry after `Retry-After`; official SDKs do so. Spread requests evenly, or raise the limit of the key.',
  request_too_large_for_tpm:
    'Lower `max_tokens`, shorten the prompt, or raise the TPM limit of the key. A retry does not help.',
  request_exceeds_max_cost: 'Lower `max_tokens`, shorten the prompt, or send a higher limit in the header.',
  request_not_found:
    'Check the id: it is in the header `x-gateway-request-id`. A receipt appears when its request has ended.',
  response_not_found:
    'Check the id and use the same key. Send the whole conversation instead of `previous_response_id`.',
  model_not_found: 'Take an id from `GET /v1/models`. Ids begin with the provider, as in `openai/gpt-4o`.',
  model_not_allowed: 'Use a model on the list of the key, or ask an owner to extend the list.',
  ip_not_allowed: 'Call from an allowed address, or add the address in the message to the list of the key.',
  wrong_model_type:
    'Use a chat model for chat, and an embedding model for embeddings. The catalog shows both.',
  invalid_json: 'Check the body: quotes, commas, and that it was sent completely.',
  invalid_value: 'Correct the field in `param`; the message describes what it may contain.',
  unsupported_parameter:
    'Leave out the parameter in `param`, choose a model that supports it, or leave out `x-gateway-strict-params`.',
  unsupported_media_type: 'Send `Content-Type: application/json`.',
  request_too_large: 'Send less: shorten the conversation, or scale images down.',
  context_length_exceeded: 'Shorten the prompt, lower `max_tokens`, or choose a model with a longer context.',
  content_policy_violation: 'Change the prompt, or choose a model of another provider.',
  upstream_error: 'Retry with growing pauses. If it lasts, choose another model.',
  upstream_overloaded: 'Retry after `Retry-After`, or choose another model.',
  upstream_timeout: 'Retry, use streaming, or lower `max_tokens`.',
  service_unavailable: 'Retry after `Retry-After`. If it lasts, contact support and include the request id.',
  unknown_url: 'Check the base URL, which ends with `/v1`, and the path.',
  method_not_allowed: 'Use the method that the description of the API gives for this URL.',
  upgrade_required: 'Send an HTTP request; for a stream set `stream` to `true`.',
  malformed_request: 'Check the HTTP client, or a proxy on the way.',
  request_timeout: 'Send the request faster, or make it smaller.',
  headers_too_large: 'Send fewer or shorter headers.',
  internal_error: 'Contact support and include the request id.',
}
