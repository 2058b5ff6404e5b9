import { type Refusal, refuse } from './errors.ts'

/** The prompt does not fit any model that could be tried. `shownWords`: the provider's own, cleaned (`showableMessage`). */
export function contextLengthExceeded(shownWords: string): Refusal {
  return refuse('context_length_exceeded', shownWords, { param: 'messages' })
}

/** Refused by the provider's content policy, in its own words. */
export function contentPolicyViolation(shownWords: string): Refusal {
  return refuse('content_policy_violation', shownWords)
}

/** The provider says that the request itself is wrong, in its own words. */
export function refusedUpstream(shownWords: string, param: string | null): Refusal {
  return refuse('invalid_value', shownWords, { param, source: 'upstream' })
}

/** Every attempt failed. SDKs shall not repeat what was already repeated here. */
export function upstreamError(attempts: number): Refusal {
  return refuse('upstream_error', `The provider failed to answer (${tries(attempts)}). Nothing was charged.`)
}

/** Every provider is overloaded or limits us. `retryAfterMs`: the smallest hint, 1 s where none gave one. */
export function upstreamOverloaded(attempts: number, retryAfterMs = 1000): Refusal {
  return refuse(
    'upstream_overloaded',
    `The provider is overloaded (${attempts === 0 ? 'it was not asked again' : tries(attempts)}). Nothing was charged.`,
    { retryAfterMs },
  )
}

/** The deadline passed before an answer began. */
export function upstreamTimeout(attempts: number, timeoutMs: number): Refusal {
  return refuse(
    'upstream_timeout',
    `No answer within ${timeoutMs} ms (${tries(attempts)}). Nothing was charged.`,
  )
}

/** A stream that had begun cannot be finished; goes into the stream itself, headers are long gone. */
export const streamCut = refuse(
  'upstream_error',
  'The provider broke the stream off. What was delivered is charged.',
)

/** The same, because the provider fell silent or the request's time was up. */
export const streamTimedOut = refuse(
  'upstream_timeout',
  'The provider did not finish in time. What was delivered is charged.',
)

function tries(attempts: number): string {
  return attempts === 1 ? '1 attempt' : `${attempts} attempts`
}
