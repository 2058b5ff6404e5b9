import { fieldsOf, itemsOf } from '../json-fields.ts'
import { answerFields, type ProviderQuirks } from './quirks.ts'

/** Names under which providers send reasoning, and clients send it back. */
const reasoningFields: ReadonlySet<string> = new Set(['reasoning_content', 'reasoning', 'thinking_blocks'])

/** A conversation as a provider takes it; the very same list where it takes it as it is. */
export function adaptMessages(messages: unknown, quirks: ProviderQuirks): unknown {
  const { developerRole, content, messageFields, reasoningBack } = quirks
  const takesAll =
    developerRole === undefined &&
    content === undefined &&
    messageFields === undefined &&
    reasoningBack === 'keep' &&
    answerFields.every((name) => passes(name, quirks))
  return takesAll ? messages : itemsOf(messages).map((message) => adaptMessage(message, quirks))
}

function adaptMessage(given: unknown, quirks: ProviderQuirks): unknown {
  const message = fieldsOf(given)
  if (message === undefined) return given
  const adapted = new Map(Object.entries(message).filter(([name]) => passes(name, quirks)))
  if (message.role === 'developer' && quirks.developerRole === 'system') adapted.set('role', 'system')
  const text = quirks.content === 'string' ? textOf(message.content) : undefined
  if (text !== undefined) adapted.set('content', text)
  if (Array.isArray(message.tool_calls) && !passes('extra_content', quirks))
    adapted.set('tool_calls', message.tool_calls.map(withoutSignature))
  if (quirks.reasoningBack === 'require' && Array.isArray(message.tool_calls))
    adapted.set('reasoning_content', message.reasoning_content || message.reasoning || ' ')
  return Object.fromEntries(adapted)
}

function passes(name: string, quirks: ProviderQuirks): boolean {
  const { messageFields, reasoningBack, answerFieldsBack = [] } = quirks
  if (reasoningFields.has(name)) return reasoningBack !== 'strip'
  if (answerFields.includes(name)) return answerFieldsBack.includes(name)
  return messageFields === undefined || messageFields.includes(name)
}

function withoutSignature(given: unknown): unknown {
  const call = fieldsOf(given)
  if (call === undefined) return given
  const { extra_content: _, ...rest } = call
  return rest
}

/** The text of a list of parts, or `undefined` where it is no list or has anything else in it. */
function textOf(content: unknown): string | undefined {
  if (!Array.isArray(content)) return undefined
  const texts = content.map((part) => fieldsOf(part)?.text)
  return texts.every((text) => typeof text === 'string') ? texts.join('') : undefined
}

/** The conversation with a schema that the provider cannot be told otherwise, in its system message. */
export function withSchemaInPrompt(messages: unknown, schema: unknown): unknown {
  const instruction = `Answer with JSON only, valid against this JSON schema: ${JSON.stringify(schema)}`
  const [first, ...rest] = itemsOf(messages)
  const system = fieldsOf(first)
  if (system?.role === 'system' && typeof system.content === 'string')
    return [{ ...system, content: `${system.content}\n\n${instruction}` }, ...rest]
  return [{ role: 'system', content: instruction }, ...itemsOf(messages)]
}
