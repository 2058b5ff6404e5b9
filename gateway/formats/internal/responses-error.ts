import type { Refusal } from '#core/errors/refusal'

/** An error as streams of this API carry it. */
export type ResponsesError = {
  readonly code: string
  readonly message: string
  readonly param: string | null
}

/** Errors of providers that leave nothing to try. */
const exhausted: ReadonlySet<Refusal['code']> = new Set([
  'upstream_error',
  'upstream_overloaded',
  'upstream_timeout',
])

/**
 * A rejection by the codes that Codex acts on (codex-rs, codex-api/src/sse/responses.rs). It repeats a request for any
 * other code, so a code that it does not know would make six requests of one.
 */
export function rejectionOf({ code, type, message, param, headers }: Refusal): ResponsesError {
  if (type === 'insufficient_quota') return { code: 'insufficient_quota', message, param }
  if (code === 'context_length_exceeded') return { code, message, param }
  if (exhausted.has(code)) return { code: 'server_is_overloaded', message, param }
  const waitS = headers['retry-after']
  // Codex reads how long to wait from these words.
  if (waitS !== undefined)
    return { code: 'rate_limit_exceeded', message: `${message} Please try again in ${waitS}s.`, param }
  return { code: 'invalid_prompt', message, param }
}

/** The end of a stream that had begun. A provider that broke it off may serve the same request again. */
export function breakOf(refusal: Refusal): ResponsesError {
  const error = rejectionOf(refusal)
  return exhausted.has(refusal.code) ? { ...error, code: 'server_error' } : error
}
