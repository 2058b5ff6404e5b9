import type { AdmitRefusal, InspectRefusal } from '#core/admission/admission-reply'
import { blockedApiKey, expiredApiKey, invalidApiKey, revokedApiKey } from '#core/errors/key-refusals'
import {
  balanceReserved,
  budgetDetails,
  budgetRefusal,
  insufficientBalance,
  ipNotAllowed,
  modelNotAllowed,
  namesOfBudget,
  rateRefusal,
} from '#core/errors/limit-refusals'
import { quoted } from '#core/errors/quoted'
import { type Refusal, refusal } from '#core/errors/refusal'
import { formatRub, nanoRub } from '#core/ledger/money'
import { receiptMessages } from '#core/ledger/receipt-messages'
import { responseMessages } from '#core/stored-responses/response-messages'

/** The task of a model, which decides the format of a request for it. */
export type ModelType = 'chat' | 'embedding'

/** How a prompt is made smaller. */
const shorten = { chat: 'Shorten the prompt', embedding: 'Send fewer or shorter inputs per request' } as const

/** How a request is made smaller. */
const lessOf = { ...shorten, chat: 'Shorten the prompt or lower max_tokens' } as const

/** The rejected request. */
type RefusedRequest = {
  /** The one it asked for. */
  readonly model: string
  readonly type: ModelType
  /** Place of its first content of unknown size, if any. */
  readonly outside: string | null
}

/** The error for a request that Redis rejected. */
export function refusalFor(refused: AdmitRefusal, request: RefusedRequest): Refusal {
  const { model, type } = request
  switch (refused.reason) {
    case 'model_not_allowed':
      return modelNotAllowed(model)
    case 'request_too_large_for_tpm':
      return refusal(
        'request_too_large_for_tpm',
        `This request may use up to ${refused.tokens} tokens, but this API key is limited to ${refused.limit} tokens per minute. ${sizeUnknown(request)}${lessOf[type]}.`,
        { limit: refused.limit, needed: refused.tokens },
      )
    case 'request_exceeds_balance':
    case 'request_exceeds_budget':
      return unaffordable(refused, request)
    case 'daily_budget_exceeded':
    case 'budget_exceeded':
    case 'budget_reserved':
      return budgetRefusal(refused)
    case 'tpm':
      return rateRefusal(refused)
    case 'balance_reserved':
      return balanceReserved
    case 'already_ended':
      return serviceUnavailable
    default:
      return keyRefusal(refused)
  }
}

/** The error for a key, for any request. */
export function keyRefusal(refused: InspectRefusal): Refusal {
  switch (refused.reason) {
    case 'rpm':
    case 'token_counts':
      return rateRefusal(refused)
    case 'unknown_key':
      return invalidApiKey
    case 'revoked_key':
      return revokedApiKey
    case 'expired_key':
      return expiredApiKey
    case 'blocked_key':
      return blockedApiKey(refused.blockedBy)
    case 'insufficient_balance':
      return insufficientBalance
    case 'ip_not_allowed':
      return ipNotAllowed(refused.ip)
    case 'unavailable':
      return serviceUnavailable
  }
}

/** Redis is unavailable, or has not been filled yet. Never a 401. */
export const serviceUnavailable = refusal(
  'service_unavailable',
  'The gateway cannot check API keys and balances right now. Nothing was charged; retry in a second.',
  { retryAfterMs: 1000 },
)

/**
 * Redis did not confirm the charge of a stream whose content was delivered: the charge is posted. Clients must not repeat the
 * request, which would be charged again.
 */
export const chargeUnconfirmed = refusal(
  'service_unavailable',
  'The response is complete and is charged, but the gateway could not confirm its cost in time. Do not repeat the request: its receipt will have the cost.',
)

/** The bodies of requests in progress have reached their memory limit. */
export const tooManyBodies = refusal(
  'service_unavailable',
  'The gateway has no memory left for more requests right now. Nothing was charged; retry in a second.',
  { retryAfterMs: 1000 },
)

/** The bodies of one organization take all the memory that one may. */
export const tooManyBodiesOfOrganization = refusal(
  'rate_limit_exceeded',
  'Requests in progress use all the memory available to this organization. Nothing was charged; wait for some of them to end, or send shorter requests.',
  { retryAfterMs: 1000 },
)

/** One organization has as many requests open as one may. */
export function tooManyRequestsOfOrganization(limit: number): Refusal {
  return refusal(
    'rate_limit_exceeded',
    `This organization has ${limit} requests in progress, as many as this gateway serves one organization at a time. Nothing was charged; wait for some of them to end.`,
    { limit, used: limit, retryAfterMs: 1000 },
  )
}

/** So many requests run on without their clients that this key has to wait for its own. */
export const tooManyAbandoned = refusal(
  'rate_limit_exceeded',
  'Clients of this API key disconnected from requests that are still running at the provider, and the gateway reads no more of them at a time. Nothing was charged; retry when some have ended, and read answers to their end.',
  { retryAfterMs: 1000 },
)

/** A model that accepts only text was sent tokens, and converting them to text took too long. */
export const tokensNotDecoded = refusal(
  'service_unavailable',
  'This model accepts only text, and converting this many tokens to text took too long. Nothing was charged; send text, or retry in a second.',
  { retryAfterMs: 1000 },
)

/** No cabinet is configured for this gateway. */
export const receiptsNotServed = refusal(
  'service_unavailable',
  'This gateway does not serve receipts because CABINET_URL is not set. Ask its operator to set it.',
)

/** The cabinet, which has the receipts, does not answer. */
export const receiptsUnavailable = refusal('service_unavailable', receiptMessages.unavailable, {
  retryAfterMs: 1000,
})

/** No cabinet is configured for this gateway. */
export const responsesNotServed = refusal(
  'service_unavailable',
  'This gateway cannot read stored responses because CABINET_URL is not set. Ask its operator to set it.',
)

/** The cabinet, which has the stored responses, does not answer. */
export const responsesUnavailable = refusal('service_unavailable', responseMessages.unavailable, {
  retryAfterMs: 1000,
})

/** Another key's response is like one that there never was. */
export const responseNotFound = refusal(
  'response_not_found',
  'No stored response of this API key has this ID. It was deleted, has expired or was never stored.',
)

/** A bug in our code; the log has the details under the request id. */
export const internalError = refusal(
  'internal_error',
  'The gateway failed to process this request because of an internal error. Contact support with the request id.',
)

/** More than the balance or the day's budget would cover, were nothing running. */
function unaffordable(
  refused: Extract<AdmitRefusal, { readonly reason: 'request_exceeds_balance' | 'request_exceeds_budget' }>,
  request: RefusedRequest,
): Refusal {
  const { type } = request
  const needed = rub(refused.neededNano)
  const affordableMaxTokens = refused.outputTokensMax
  const { source, remedy, numbers } = shortageOf(refused)
  const smaller =
    type === 'chat' && affordableMaxTokens > 0
      ? `Set max_tokens to ${affordableMaxTokens} or less`
      : shorten[type]
  return refusal(
    refused.reason,
    `This request may cost ${needed} ₽, more than ${source}. ${sizeUnknown(request)}${smaller}, or ${remedy}.`,
    {
      ...(type === 'chat' ? { param: 'max_tokens', affordableMaxTokens } : {}),
      held: rub(refused.heldNano),
      needed,
      ...numbers,
    },
  )
}

function shortageOf(refused: Parameters<typeof unaffordable>[0]) {
  if (refused.reason === 'request_exceeds_balance') {
    const limit = rub(refused.availableNano)
    return {
      source: `the organization's balance: ${limit} ₽`,
      remedy: 'top up the balance in the cabinet',
      numbers: { limit },
    }
  }
  const { owner, budget } = namesOfBudget(refused)
  return {
    source: `what is left of ${owner} ${budget}: ${rub(refused.limitNano - refused.usedNano)} ₽`,
    remedy: 'raise the budget in the cabinet',
    numbers: {
      ...budgetDetails(refused),
      limit: rub(refused.limitNano),
      used: rub(refused.usedNano),
    },
  }
}

function rub(nano: bigint): string {
  return formatRub(nanoRub(nano))
}

/** Why a short request may be so large. */
function sizeUnknown({ outside }: RefusedRequest): string {
  return outside === null
    ? ''
    : `The size of ${outside} is unknown, so it counts as the model's whole context; text counts as its length. `
}

/** No such model, or one that this organization may not see. */
export function modelNotFound(model: string): Refusal {
  const hint = model.includes('/') ? '' : ' Model names have the form <provider>/<model>.'
  return refusal(
    'model_not_found',
    `The model ${quoted(model)} does not exist or is not available to your organization.${hint}`,
    { param: 'model' },
  )
}

/** An embedding model in a chat, or the reverse. */
export function wrongModelType(model: string, type: ModelType): Refusal {
  const path = type === 'chat' ? '/v1/chat/completions' : '/v1/embeddings'
  return refusal(
    'wrong_model_type',
    `This endpoint does not support the model ${quoted(model)}. Use ${path}.`,
    {
      param: 'model',
    },
  )
}

/** The upper bound of the cost is above what the caller allowed in `x-gateway-max-cost-rub`. */
export function exceedsMaxCost(boundNano: bigint, maxNano: bigint, type: ModelType): Refusal {
  const param = 'x-gateway-max-cost-rub'
  const limit = formatRub(nanoRub(maxNano))
  const bound = formatRub(nanoRub(boundNano))
  return refusal(
    'request_exceeds_max_cost',
    `This request may cost up to ${bound} ₽, more than the ${limit} ₽ that ${param} allows. ${lessOf[type]}, or raise ${param}.`,
    { param, limit, needed: bound },
  )
}

/** Nothing bounds the answer: the request has no limit (`unset`), or its route keeps it from the model (`not_sent`). */
export function costUnbounded(ownLimit: 'unset' | 'not_sent', maxNano: bigint): Refusal {
  const param = 'x-gateway-max-cost-rub'
  const limit = formatRub(nanoRub(maxNano))
  const [why, remedy] =
    ownLimit === 'unset'
      ? [
          'the request does not set max_tokens',
          `Set max_tokens so that the cost can be checked against the ${limit} ₽ that ${param} allows.`,
        ]
      : ['max_tokens is not sent to this model', `Use another model, or remove ${param}.`]
  return refusal(
    'request_exceeds_max_cost',
    `The cost of this request has no upper bound: ${why}, and the model's own output limit is unknown. ${remedy}`,
    { param, limit },
  )
}

/** Nothing bounds what the model would read: media or references of a size that is not known, on a model without a known context. */
export function promptUnbounded(place: string | null): Refusal {
  const what = place === null ? 'A parameter of this request' : place
  return refusal(
    'request_exceeds_balance',
    `${what} adds content whose size is unknown, and this model has no known context length, so the cost of the request has no upper bound. Send text only, or ask the operator to set contextLength on the model's route.`,
    { param: place },
  )
}

/** The body is not JSON; `problem` describes where. */
export function invalidJson(problem: string): Refusal {
  return refusal('invalid_json', `The request body is not valid JSON: ${problem}`)
}

/** A field or header has a value that cannot be used. `problem` continues the sentence that `param` begins. */
export function invalidValue(param: string | null, problem: string): Refusal {
  return refusal('invalid_value', `${param ?? 'The request body'} ${problem}.`, { param })
}

/** `x-gateway-strict-params` is set, and the model's providers do not take these parameters as they are. */
export function unsupportedParameters(model: string, parameters: readonly string[]): Refusal {
  return refusal(
    'unsupported_parameter',
    `The model ${quoted(model)} does not support these parameters as sent: ${parameters.map(quoted).join(', ')}. Remove them, or remove x-gateway-strict-params to have them dropped.`,
    { param: parameters[0] ?? null },
  )
}

/** The content type is not JSON. */
export const unsupportedMediaType = refusal(
  'unsupported_media_type',
  'The request body must be JSON, sent with the header "Content-Type: application/json".',
)

/** The body has a Content-Encoding. */
export function compressedBody(encoding: string): Refusal {
  return refusal(
    'unsupported_media_type',
    `The Content-Encoding ${quoted(encoding)} is not supported. Send the request body uncompressed, without that header.`,
    { param: 'content-encoding', headers: { 'accept-encoding': 'identity' } },
  )
}

/** The body is longer than `bytesMax`. */
export function requestTooLarge(bytesMax: number): Refusal {
  return refusal('request_too_large', `The request body is larger than the limit of ${bytesMax} bytes.`, {
    limit: bytesMax,
  })
}

/** No route has this path; `hint` describes what the caller probably meant. */
export function unknownUrl(method: string, path: string, hint: string): Refusal {
  return refusal(
    'unknown_url',
    `Unknown request URL: ${method} ${quoted(path)}.${hint === '' ? '' : ` ${hint}`}`,
  )
}

/** The address exists, for another method. */
export function methodNotAllowed(method: string, allowed: string): Refusal {
  return refusal('method_not_allowed', `${method} is not allowed for this URL. Use ${allowed}.`, {
    headers: { allow: allowed },
  })
}

/**
 * A WebSocket where there is none. Codex then uses HTTP at once; after 404 or 405 it asks six times more, and 400 ends its
 * turn.
 */
export const upgradeRefused = refusal(
  'upgrade_required',
  'WebSocket is not supported for this URL. Send a POST request over HTTP.',
  { headers: { upgrade: 'HTTP/1.1', connection: 'upgrade' } },
)

/** HTTP that cannot be read. */
export const malformedRequest = refusal('malformed_request', 'The request is not valid HTTP.')

/** Two keys, of which one may be another client's. */
export const twoKeys = refusal(
  'malformed_request',
  'The request has two different API keys. Send one key, as "Authorization: Bearer …" or as "x-api-key: …".',
)

/** The request was not received in full in time. */
export const requestTimeout = refusal('request_timeout', 'Timed out while receiving the request.')

/** More header bytes than the server reads. */
export const headersTooLarge = refusal('headers_too_large', 'The request headers are too large.')
