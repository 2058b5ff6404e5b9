import type { ChatMessage, ChatRequest } from '../../requests/chat-request.ts'
import { fieldsOf, itemsOf } from '../../wire/json-fields.ts'
import { isText, piecesOf } from '../../wire/long-text.ts'

/** The parts of a request that show which session it belongs to. */
export type SessionTraces = {
  readonly request: ChatRequest
  /** Named by a header. */
  readonly session: string | null
  readonly bodyBytes: number
}

/**
 * Shortest body, in bytes, of whose beginning a provider may have anything in its cache: none of them caches fewer than
 * 1,024 tokens.
 */
const cacheableBytesMin = 4096
/** Messages that show a session: those before and including the user's first. */
const messagesMax = 4
/** Of one message. */
const partsMax = 4
/** Of one text, in UTF-16 units. Texts that begin in the same way mostly have different lengths. */
const textLengthMax = 1024

/**
 * What all requests of a session have in common, and few others; `undefined`: nothing is known, or nothing can be cached.
 *
 * The client's own name of its cache or session, else how its conversation begins. Names are those of one organization.
 */
export function affinityOf(
  { request, session, bodyBytes }: SessionTraces,
  organizationId: string,
): string | undefined {
  const { prompt_cache_key: key, messages } = request
  const name = isText(key) && key.length > 0 ? headOf(key) : session
  if (name !== null) return `${organizationId}\n${name}`
  return bodyBytes < cacheableBytesMin ? undefined : beginningOf(messages)
}

/** It does not change while the conversation grows. */
function beginningOf(messages: readonly ChatMessage[]): string {
  const end = messages.findIndex(({ role }) => role !== 'system' && role !== 'developer') + 1
  const first = messages.slice(0, Math.min(end === 0 ? messagesMax : end, messagesMax))
  return first.map(({ role, content }) => `${role} ${headOf(content)}`).join('\n')
}

function headOf(content: unknown): string {
  if (isText(content)) return `${content.length} ${piecesOf(content)[0]?.slice(0, textLengthMax)}`
  const parts = itemsOf(content)
  return [parts.length, ...parts.slice(0, partsMax).map((part) => headOf(fieldsOf(part)?.text))].join('\n')
}
