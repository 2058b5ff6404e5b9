import { createHash } from 'node:crypto'
import { fieldsOf, itemsOf, type JsonObject } from '../../wire/json-fields.ts'
import { mapItems } from '../../wire/map-values.ts'

/**
 * Which signed content of a conversation a provider gets back: that which it signed itself. Another provider, or another
 * account, would reject the request or ignore it.
 */
export type SignatureOrigin = {
  /** Of the provider that is called. */
  readonly own: string
  /** What clients return without the mark, as from elsewhere: kept for the first provider of a request only. */
  readonly unmarked: 'kept' | 'removed'
}

/** The mark of a provider: short, and it reveals no name. */
export function originOf(provider: string): string {
  return createHash('sha256').update(provider).digest('base64url').slice(0, 8)
}

/** Whether a provider takes back what has this mark, which the caller may have lost. */
function isAccepted({ own, unmarked }: SignatureOrigin, mark: unknown): boolean {
  return mark === undefined ? unmarked === 'kept' : mark === own
}

/** A signature's `extra_content` with the mark of its provider. */
export function markedContent(content: JsonObject, own: string): JsonObject {
  return { ...content, gateway: { origin: own } }
}

/** A conversation without what another provider signed; the very same list where it has none of that. */
export function withoutForeignSignatures(messages: unknown, origin: SignatureOrigin): unknown {
  return Array.isArray(messages) ? mapItems(messages, (message) => ownOf(message, origin)) : messages
}

function ownOf(given: unknown, origin: SignatureOrigin): unknown {
  const message = fieldsOf(given)
  if (message?.role !== 'assistant') return given
  const { reasoning_details: details, tool_calls: calls } = message
  const kept = withOwnContent(message, origin)
  const ownDetails =
    Array.isArray(details) && details.some((detail) => !isAccepted(origin, fieldsOf(detail)?.origin))
      ? details.filter((detail) => isAccepted(origin, fieldsOf(detail)?.origin))
      : details
  const ownCalls = Array.isArray(calls) ? mapItems(calls, (call) => withOwnContent(call, origin)) : calls
  if (kept === message && ownDetails === details && ownCalls === calls) return given
  const { reasoning_details, tool_calls, ...rest } = fieldsOf(kept) ?? {}
  return {
    ...rest,
    ...(itemsOf(ownDetails).length === 0 ? {} : { reasoning_details: ownDetails }),
    ...(ownCalls === undefined ? {} : { tool_calls: ownCalls }),
  }
}

/** A message or a call without a foreign `extra_content`. */
function withOwnContent(given: unknown, origin: SignatureOrigin): unknown {
  const { extra_content: content, ...rest } = fieldsOf(given) ?? {}
  return content === undefined || isAccepted(origin, fieldsOf(fieldsOf(content)?.gateway)?.origin)
    ? given
    : rest
}
