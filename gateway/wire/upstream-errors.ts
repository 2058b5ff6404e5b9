import { type Refusal, refusal } from '#core/errors/refusal'
import type { ModelType } from './errors.ts'

/** The prompt does not fit any model that could be tried. `shownWords`: the provider's own, cleaned (`showableMessage`). */
export function contextLengthExceeded(shownWords: string, type: ModelType): Refusal {
  return refusal('context_length_exceeded', shownWords, { param: type === 'chat' ? 'messages' : 'input' })
}

/** Rejected by the provider's content policy, in its own words. */
export function contentPolicyViolation(shownWords: string): Refusal {
  return refusal('content_policy_violation', shownWords)
}

/** The provider reports that the request itself is invalid, in its own words. */
export function refusedUpstream(shownWords: string, param: string | null): Refusal {
  return refusal('invalid_value', shownWords, { param, source: 'upstream' })
}

/** Every attempt failed, or the model has no provider left. SDKs must not repeat what was already retried here. */
export function upstreamError(attempts: number): Refusal {
  if (attempts === 0)
    return refusal('upstream_error', 'No provider is available for this model. Nothing was charged.')
  return refusal(
    'upstream_error',
    `The provider failed to respond (${tries(attempts)}). Nothing was charged.`,
  )
}

/** The provider's answer is longer than the gateway reads; the same request would get the same answer. */
export function answerTooLarge(type: ModelType): Refusal {
  const remedy =
    type === 'chat'
      ? 'Lower max_tokens or n.'
      : 'Send fewer inputs per request, or ask for fewer dimensions or for encoding_format base64.'
  return refusal(
    'upstream_error',
    `The provider's response exceeds the gateway's size limit. Nothing was charged. ${remedy}`,
  )
}

/**
 * Every provider is overloaded or limits the gateway. `retryAfterMs`: the smallest hint, 1 s if none gave
 * one.
 */
export function upstreamOverloaded(attempts: number, retryAfterMs = 1000): Refusal {
  return refusal(
    'upstream_overloaded',
    `The provider is overloaded (${attempts === 0 ? 'no attempt was made' : tries(attempts)}). Nothing was charged; retry later.`,
    { retryAfterMs },
  )
}

/** A request needs more calls than its provider's limit allows within its time. No `retryAfterMs`: it never will. */
export function tooManyCalls(
  timeoutMs: number,
  inputsMax: number,
  retryAfterMs: number | undefined,
): Refusal {
  const when = retryAfterMs === undefined ? '' : ' when no other large request is running'
  return refusal(
    'upstream_overloaded',
    `This request has more inputs than the provider's rate limit allows within ${timeoutMs} ms. Nothing was charged. Send fewer inputs per request: up to ${inputsMax} fit${when}.`,
    retryAfterMs === undefined ? {} : { retryAfterMs },
  )
}

/**
 * What is charged for a request without a response. The caller's own timeout ended it after a provider had
 * the prompt: that (`prompt`), or the response that the provider continues to generate (`answer`).
 */
export type Owed = 'nothing' | 'prompt' | 'answer'

const owedWords = {
  nothing: 'Nothing was charged.',
  prompt:
    'The provider had received the prompt, so the prompt is charged. Allow more time with x-gateway-timeout-ms.',
  answer:
    'The provider had received the request, so its response is charged once it is complete. Allow more time with x-gateway-timeout-ms.',
} as const satisfies Record<Owed, string>

/** The deadline passed before an answer began; if no provider was called, none is to blame. */
export function requestTimedOut(attempts: number, timeoutMs: number, owed: Owed): Refusal {
  if (attempts === 0)
    return refusal(
      'upstream_timeout',
      `The request timed out after ${timeoutMs} ms, before a provider could be called. Nothing was charged; retry with a longer timeout.`,
      { source: 'gateway' },
    )
  return refusal(
    'upstream_timeout',
    `The provider did not respond within ${timeoutMs} ms (${tries(attempts)}). ${owedWords[owed]}`,
  )
}

/** Every attempt exceeded its provider's timeout; the request itself had time left. */
export function providerTimedOut(attempts: number, owed: Owed): Refusal {
  return refusal(
    'upstream_timeout',
    `The provider did not respond in time (${tries(attempts)}). ${owedWords[owed]}`,
  )
}

/**
 * A stream that had begun cannot be finished; written into the stream itself, because the headers were
 * already sent.
 */
export const streamCut = refusal(
  'upstream_error',
  'The provider broke off the stream. The delivered part is charged.',
)

/** The same, because the provider stopped sending or the request's deadline passed. */
export const streamTimedOut = refusal(
  'upstream_timeout',
  'The provider did not finish the stream in time. The delivered part is charged.',
)

function tries(attempts: number): string {
  return attempts === 1 ? '1 attempt' : `${attempts} attempts`
}
