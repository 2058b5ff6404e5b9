import type { AdmitRefusal, KeyRefusal } from '#cabinet/admission/admission-reply'
import { formatRub, nanoRub } from '#cabinet/ledger/money'
import { blockedApiKey, expiredApiKey, invalidApiKey, revokedApiKey } from '#cabinet/refusals/key-refusals'
import {
  errorBody,
  type Refusal,
  refusal,
  retryAfterSecondsMax,
  retrySecondsOf,
} from '#cabinet/refusals/refusal'

/** What a model does, and so what a request for it is made of. */
export type ModelType = 'chat' | 'embedding'

/** The frame that ends a broken stream; SDKs raise on it. */
export function errorFrame(refusal: Refusal, requestId: string): string {
  return `data: ${errorBody(refusal, requestId)}\n\n`
}

/** How a request is made smaller. */
const lessOf = {
  chat: 'Shorten the prompt or lower max_tokens',
  embedding: 'Send fewer or shorter inputs at a time',
} as const

/** What a client is told when Redis refuses its request. `model` is the one it asked for. */
export function refusalFor(refused: AdmitRefusal, model: string, type: ModelType): Refusal {
  switch (refused.reason) {
    case 'model_not_allowed':
      return modelNotAllowed(model)
    case 'request_too_large_for_tpm':
      return refusal(
        'request_too_large_for_tpm',
        `This request may use ${refused.tokens} tokens, more than this key's whole limit of ${refused.limit} tokens per minute. ${lessOf[type]}.`,
        { limit: refused.limit, used: refused.tokens },
      )
    case 'daily_budget_exceeded':
    case 'budget_reserved':
      return budgetRefusal(refused)
    case 'rpm':
    case 'tpm':
      return rateRefusal(refused)
    case 'balance_reserved':
      return refusal(
        'balance_reserved',
        "The organization's whole balance is held by requests that are still running. Retry in a second, or top the balance up in the cabinet.",
        { retryAfterMs: 1000 },
      )
    case 'already_ended':
      return serviceUnavailable
    default:
      return keyRefusal(refused)
  }
}

/** What a client is told about its key, whatever it asked for. */
export function keyRefusal(refused: KeyRefusal | { readonly reason: 'unavailable' }): Refusal {
  switch (refused.reason) {
    case 'unknown_key':
      return invalidApiKey
    case 'revoked_key':
      return revokedApiKey
    case 'expired_key':
      return expiredApiKey
    case 'blocked_key':
      return blockedApiKey(refused.blockedBy)
    case 'insufficient_balance':
      return refusal(
        'insufficient_balance',
        "The organization's balance is used up, so its keys are blocked. Top it up in the cabinet; they work again at once.",
      )
    case 'unavailable':
      return serviceUnavailable
  }
}

/** Redis is away, or has not been filled yet. Never a 401. */
export const serviceUnavailable = refusal(
  'service_unavailable',
  'The gateway cannot check keys and balances at the moment. Nothing was charged; retry in a second.',
  { retryAfterMs: 1000 },
)

/** The bodies of the requests that are being read or run take all the memory that they may. */
export const tooManyBodies = refusal(
  'service_unavailable',
  'The gateway has as much of its memory in use for running requests as it may. Nothing was charged; retry in a second.',
  { retryAfterMs: 1000 },
)

/** A model that takes text only was sent tokens, and there was no time to turn them into text. */
export const tokensNotDecoded = refusal(
  'service_unavailable',
  'This model takes text only, and turning so many tokens into text took too long. Nothing was charged; send text, or retry in a second.',
  { retryAfterMs: 1000 },
)

/** Nobody told this gateway where the cabinet is. */
export const receiptsNotServed = refusal(
  'service_unavailable',
  'This gateway has no receipts: its setting CABINET_URL is missing. Whoever runs it can set it.',
)

/** A bug of ours; the log has the rest under the request id. */
export const internalError = refusal(
  'internal_error',
  'The gateway failed to handle this request. Nothing else is known here; support can find it by its request id.',
)

function budgetRefusal(refused: {
  readonly reason: 'daily_budget_exceeded' | 'budget_reserved'
  readonly limitNano: bigint
  readonly usedNano: bigint
  readonly resetsAtMs: number
}): Refusal {
  const limit = formatRub(nanoRub(refused.limitNano))
  const used = formatRub(nanoRub(refused.usedNano))
  const resetsAt = new Date(refused.resetsAtMs).toISOString()
  if (refused.reason === 'budget_reserved')
    return refusal(
      'budget_reserved',
      `${used} ₽ of this key's daily budget of ${limit} ₽ is spent and the rest is held by requests that are still running. Retry in a second.`,
      { limit, used, resetsAt, retryAfterMs: 1000 },
    )
  return refusal(
    'daily_budget_exceeded',
    `This key's daily budget of ${limit} ₽ is spent (${used} ₽ used). It starts anew at ${resetsAt} (midnight in Moscow); the key's owner can raise it in the cabinet.`,
    { limit, used, resetsAt },
  )
}

/** The window counts whole seconds, one more than a minute of them; SDKs would not wait for that one (`retryHeaders`). */
function rateRefusal({
  reason,
  limit,
  used,
  retryAfterMs: freeAfterMs,
}: Extract<AdmitRefusal, { readonly reason: 'rpm' | 'tpm' }>): Refusal {
  const counted = reason === 'rpm' ? 'requests' : 'tokens'
  const retryAfterMs = Math.min(freeAfterMs, retryAfterSecondsMax * 1000)
  const seconds = retrySecondsOf(retryAfterMs)
  return refusal(
    'rate_limit_exceeded',
    `This key may use ${limit} ${counted} per minute, and ${used} were used in the last one${reason === 'tpm' ? '; what is left is too little for this request' : ''}. Retry in ${seconds} s.`,
    { limit, used, retryAfterMs },
  )
}

/** The key's list of models has neither this model nor its provider. */
export function modelNotAllowed(model: string): Refusal {
  return refusal('model_not_allowed', `This API key may not use the model ${quoted(model)}.`, {
    param: 'model',
  })
}

/** No such model, or one that this organization may not see. */
export function modelNotFound(model: string): Refusal {
  const hint = model.includes('/') ? '' : ' Models are named <provider>/<model>.'
  return refusal('model_not_found', `There is no model ${quoted(model)} here.${hint}`, { param: 'model' })
}

/** An embedding model in a chat, or the reverse. */
export function wrongModelType(model: string, type: ModelType): Refusal {
  const path = type === 'chat' ? '/v1/chat/completions' : '/v1/embeddings'
  return refusal('wrong_model_type', `${quoted(model)} is a model for ${path}, not for this operation.`, {
    param: 'model',
  })
}

/** The upper bound of the cost is above what the caller allowed in `x-gateway-max-cost-rub`. */
export function exceedsMaxCost(boundNano: bigint, maxNano: bigint, type: ModelType): Refusal {
  const param = 'x-gateway-max-cost-rub'
  const limit = formatRub(nanoRub(maxNano))
  const bound = formatRub(nanoRub(boundNano))
  return refusal(
    'request_exceeds_max_cost',
    `This request may cost up to ${bound} ₽, more than the ${limit} ₽ that ${param} allows. ${lessOf[type]}, or raise the header.`,
    { param, limit, used: bound },
  )
}

/** Nothing bounds the answer: the request has no limit (`unset`), or its route keeps it from the model (`not_sent`). */
export function costUnbounded(ownLimit: 'unset' | 'not_sent', maxNano: bigint): Refusal {
  const param = 'x-gateway-max-cost-rub'
  const limit = formatRub(nanoRub(maxNano))
  const [why, remedy] =
    ownLimit === 'unset'
      ? [
          'it sets no max_tokens',
          `Set max_tokens to have it held against the ${limit} ₽ that ${param} allows.`,
        ]
      : ['its max_tokens is not sent to this model', `Use another model, or leave ${param} out.`]
  return refusal(
    'request_exceeds_max_cost',
    `What this request may cost has no bound: ${why}, and no limit of the model is known. ${remedy}`,
    { param, limit },
  )
}

/** The body is not JSON; `problem` says where. */
export function invalidJson(problem: string): Refusal {
  return refusal('invalid_json', `The body is not valid JSON: ${problem}`)
}

/** A field or header has a value that cannot be used. `problem` continues the sentence that `param` begins. */
export function invalidValue(param: string | null, problem: string): Refusal {
  return refusal('invalid_value', `${param ?? 'The body'} ${problem}.`, { param })
}

/** `x-gateway-strict-params` is set, and the model's providers do not take these parameters as they are. */
export function unsupportedParameters(model: string, parameters: readonly string[]): Refusal {
  return refusal(
    'unsupported_parameter',
    `The model ${quoted(model)} does not take ${parameters.map(quoted).join(', ')} as sent. Leave them out, or leave x-gateway-strict-params out to have them dropped.`,
    { param: parameters[0] ?? null },
  )
}

/** The content type is not JSON. */
export const unsupportedMediaType = refusal(
  'unsupported_media_type',
  'The body must be JSON, with the header "Content-Type: application/json".',
)

/** The body has a Content-Encoding. */
export function compressedBody(encoding: string): Refusal {
  return refusal(
    'unsupported_media_type',
    `The body has the Content-Encoding ${quoted(encoding)}; send it as it is, without that header.`,
    { param: 'content-encoding', headers: { 'accept-encoding': 'identity' } },
  )
}

/** The body is longer than `bytesMax`. */
export function requestTooLarge(bytesMax: number): Refusal {
  return refusal('request_too_large', `The body is larger than the limit of ${bytesMax} bytes.`, {
    limit: bytesMax,
  })
}

/** Nothing is served at this address; `hint` says what was probably meant. */
export function unknownUrl(method: string, path: string, hint: string): Refusal {
  return refusal(
    'unknown_url',
    `There is nothing at ${method} ${quoted(path)}.${hint === '' ? '' : ` ${hint}`}`,
  )
}

/** The address exists, for another method. */
export function methodNotAllowed(method: string, allowed: string): Refusal {
  return refusal('method_not_allowed', `${method} is not allowed here; use ${allowed}.`, {
    headers: { allow: allowed },
  })
}

/** HTTP that cannot be read. */
export const malformedRequest = refusal('malformed_request', 'This is not a valid HTTP request.')

/** The request did not arrive whole in time. */
export const requestTimeout = refusal('request_timeout', 'The request took too long to arrive.')

/** More header bytes than the server reads. */
export const headersTooLarge = refusal('headers_too_large', 'The request headers are too large.')

const echoLengthMax = 200

/** What the caller sent, short enough to be read back. */
function quoted(text: string): string {
  return JSON.stringify(text.length > echoLengthMax ? `${text.slice(0, echoLengthMax)}…` : text)
}
