import { fieldsOf, type JsonObject } from '../wire/json-fields.ts'
import { mapItems } from '../wire/map-values.ts'
import { markedContent } from './internal/signature-origin.ts'

/** Signed reasoning with the mark of its provider, where its adapter has not put one. */
export function withMark(detail: JsonObject, origin: string): JsonObject {
  return detail.origin === undefined ? { ...detail, origin } : detail
}

/** A signature's `extra_content` with the mark of its provider. */
export function contentWithMark(content: JsonObject, origin: string): JsonObject {
  return content.gateway === undefined ? markedContent(content, origin) : content
}

/** A conversation without marks, for a provider that takes its signatures as it wrote them; the very same list without any. */
export function withoutMarks(messages: readonly unknown[]): readonly unknown[] {
  return mapItems(messages, (given) => {
    const message = fieldsOf(given)
    if (message?.role !== 'assistant') return given
    const { reasoning_details: details, tool_calls: calls } = message
    const content = withoutContentMark(message)
    const ownDetails = Array.isArray(details) ? mapItems(details, withoutOrigin) : details
    const ownCalls = Array.isArray(calls) ? mapItems(calls, withoutContentMark) : calls
    if (content === message && ownDetails === details && ownCalls === calls) return given
    return {
      ...fieldsOf(content),
      ...(ownDetails === undefined ? {} : { reasoning_details: ownDetails }),
      ...(ownCalls === undefined ? {} : { tool_calls: ownCalls }),
    }
  })
}

function withoutOrigin(given: unknown): unknown {
  const { origin, ...detail } = fieldsOf(given) ?? {}
  return origin === undefined ? given : detail
}

function withoutContentMark(given: unknown): unknown {
  const { gateway, ...content } = fieldsOf(fieldsOf(given)?.extra_content) ?? {}
  return gateway === undefined ? given : { ...fieldsOf(given), extra_content: content }
}
