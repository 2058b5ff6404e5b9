import { fieldsOf, type JsonObject } from '../../wire/json-fields.ts'
import { isAccepted, markOf, type SignatureOrigin } from '../signature-origin.ts'
import { mapItems } from './extra-fields.ts'

/**
 * A conversation without the signatures (`extra_content` of messages and calls) that another provider made; the very same
 * list if it has none.
 */
export function withoutForeignSignatures(messages: unknown, origin: SignatureOrigin): unknown {
  if (!Array.isArray(messages)) return messages
  return mapItems(messages, (given) => {
    const message = withoutForeign(given, origin)
    const calls = fieldsOf(message)?.tool_calls
    if (!Array.isArray(calls)) return message
    const kept = mapItems(calls, (call) => withoutForeign(call, origin))
    return kept === calls ? message : { ...fieldsOf(message), tool_calls: kept }
  })
}

function withoutForeign(given: unknown, origin: SignatureOrigin): unknown {
  const fields: JsonObject | undefined = fieldsOf(given)
  if (fields?.extra_content === undefined || isAccepted(origin, markOf(fields.extra_content))) return given
  const { extra_content, ...others } = fields
  return others
}
