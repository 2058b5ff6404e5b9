import type { Refusal } from '#core/errors/refusal'

/** Types of errors by status (platform.claude.com, errors, 2026-11-25); the other ones of 4xx are problems of the request. */
const types: ReadonlyMap<number, string> = new Map([
  [401, 'authentication_error'],
  [402, 'billing_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [503, 'overloaded_error'],
  [504, 'timeout_error'],
])

/** Makes SDKs send the whole conversation from then on. */
const noThreads = { error_code: 'thread_unsupported_request', unsupported: [] } as const

/** An error as Anthropic's API has it, with the gateway's own facts. */
export function messagesErrorBody(refusal: Refusal, requestId: string): string {
  const { status, message, param, code, source, limit, used, resetsAt, affordableMaxTokens, docUrl } = refusal
  const type = types.get(status) ?? (status < 500 ? 'invalid_request_error' : 'api_error')
  return JSON.stringify({
    type: 'error',
    error: {
      type,
      message,
      code,
      param,
      source,
      limit,
      used,
      resets_at: resetsAt,
      affordable_max_tokens: affordableMaxTokens,
      doc_url: docUrl,
      ...(param === 'thread' ? { details: noThreads } : {}),
    },
    request_id: requestId,
  })
}

/** The words that Anthropic's clients look for: Claude Code then shortens its conversation. */
const known = /prompt is too long: (\d+) tokens > (\d+) maximum/i
const numbers = /\d[\d,_ ]*\d/g
/** Smaller numbers in a provider's words are no sizes of contexts. */
const contextMin = 1_000

/**
 * The message of a prompt that is too long, in Anthropic's words, whatever provider rejected it.
 *
 * @param promptTokens as the gateway estimates them.
 */
export function promptTooLong(message: string, promptTokens: number): string {
  const told = known.exec(message)
  if (told !== null) return told[0]
  const found = (message.match(numbers) ?? [])
    .map((text) => Number(text.replace(/\D/g, '')))
    .filter((count) => count >= contextMin && Number.isSafeInteger(count))
  const maximum = found.length === 0 ? promptTokens : Math.min(...found)
  const tokens = Math.max(promptTokens, maximum + 1, ...found)
  return `prompt is too long: ${tokens} tokens > ${maximum} maximum`
}
