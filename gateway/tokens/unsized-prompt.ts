import { fieldsOf, itemsOf, type JsonObject } from '../wire/json-fields.ts'
import { openAiParameters } from '../wire/openai-parameters.ts'

/** Parameters whose tokens an estimate knows, or that have none; a search that the provider makes is neither. */
const sizedParameters: ReadonlySet<string> = new Set(
  [...openAiParameters, 'model', 'messages', 'stream'].filter((name) => name !== 'web_search_options'),
)
const sizedInMessages: ReadonlySet<string> = new Set([
  ...['role', 'content', 'name', 'refusal', 'reasoning_content'],
  ...['tool_calls', 'tool_call_id', 'function_call', 'images', 'audio'],
])
const sizedInParts: ReadonlySet<string> = new Set(['type', 'text', 'refusal', 'cache_control'])
/** Tools that the caller runs; what others read for the model is told by the provider's usage alone. */
const callersTools: readonly unknown[] = ['function', 'custom']
/** A text of a field that is not known, in UTF-16 units, from which on it may be a part of the prompt and not a word. */
const unknownLengthMax = 64

/**
 * Whether a chat request has, apart from images, sound and files, something that a model may read and whose size no
 * estimate knows: fields of a provider's own, tools that the provider runs, a search. Looks at names, never into texts.
 */
export function hasUnsizedParts(request: JsonObject): boolean {
  if (hasUnknown(request, sizedParameters)) return true
  if (itemsOf(request.tools).some((tool) => !callersTools.includes(fieldsOf(tool)?.type))) return true
  return itemsOf(request.messages).some((item) => {
    const message = fieldsOf(item) ?? {}
    if (hasUnknown(message, sizedInMessages)) return true
    return itemsOf(message.content).some((part) => hasUnknown(fieldsOf(part) ?? {}, sizedInParts))
  })
}

function hasUnknown(fields: JsonObject, known: ReadonlySet<string>): boolean {
  for (const name in fields) if (!known.has(name) && mayBeRead(fields[name])) return true
  return false
}

function mayBeRead(value: unknown): boolean {
  if (typeof value === 'string') return value.length > unknownLengthMax
  return typeof value === 'object' && value !== null
}
