import { fieldsOf, itemsOf } from '../../wire/json-fields.ts'
import { isText, joinTexts, type Text } from '../../wire/long-text.ts'
import { mapItems } from '../../wire/map-values.ts'
import type { Dialect } from '../provider-adapter.ts'
import { withoutFields } from './extra-fields.ts'

type Quirks = Dialect['quirks']

/** Names under which providers send reasoning, and clients send it back. */
const reasoningFields: ReadonlySet<string> = new Set(['reasoning_content', 'reasoning', 'thinking_blocks'])

/**
 * A conversation in the provider's format; the very same list, and the very same messages, if they need no
 * change.
 */
export function adaptMessages(messages: unknown, quirks: Quirks): unknown {
  const { developerRole, content, messageFields, nameRoles, reasoningBack, extrasRefused } = quirks
  const takesAll =
    developerRole === undefined &&
    content === undefined &&
    messageFields === undefined &&
    nameRoles === undefined &&
    reasoningBack === 'keep' &&
    extrasRefused.length === 0
  return takesAll ? messages : mapItems(itemsOf(messages), (message) => adaptMessage(message, quirks))
}

function adaptMessage(given: unknown, quirks: Quirks): unknown {
  const message = fieldsOf(given)
  if (message === undefined) return given
  const kept: [string, unknown][] = []
  let isSame = true
  for (const [name, value] of Object.entries(message)) {
    const adapted = passes(name, message.role, quirks) ? adaptField(name, value, quirks) : undefined
    if (adapted !== undefined) kept.push([name, adapted])
    if (adapted !== value) isSame = false
  }
  const taken = isSame ? message : Object.fromEntries(kept)
  const lacksReasoning =
    quirks.reasoningBack === 'require' && Array.isArray(message.tool_calls) && !message.reasoning_content
  return lacksReasoning ? { ...taken, reasoning_content: message.reasoning || ' ' } : taken
}

function passes(name: string, role: unknown, quirks: Quirks): boolean {
  const { messageFields, nameRoles, reasoningBack, extrasTaken, extrasRefused } = quirks
  if (reasoningFields.has(name)) return reasoningBack !== 'strip'
  if (extrasRefused.includes(name)) return false
  if (name === 'name' && nameRoles?.some((known) => known === role) === false) return false
  return (
    messageFields === undefined ||
    messageFields.includes(name) ||
    extrasTaken?.some((taken) => taken === name) === true
  )
}

function adaptField(name: string, value: unknown, quirks: Quirks): unknown {
  if (name === 'role' && value === 'developer') return quirks.developerRole ?? value
  if (name === 'tool_calls') return withoutFields(value, quirks.extrasRefused)
  if (name !== 'content') return value
  const text = quirks.content === 'string' ? textOf(value) : undefined
  return text ?? withoutFields(value, quirks.extrasRefused)
}

/** The text of a list of parts, or `undefined` if it is no list or has anything but text. */
function textOf(content: unknown): Text | undefined {
  if (!Array.isArray(content)) return undefined
  const texts = content.map((part) => fieldsOf(part)?.text)
  return texts.every(isText) ? joinTexts(texts) : undefined
}

/** The conversation with a schema in its system message, for a provider that accepts it in no other way. */
export function withSchemaInPrompt(messages: unknown, schema: unknown): unknown {
  const instruction = `Answer with JSON only, valid against this JSON schema: ${JSON.stringify(schema)}`
  const [first, ...rest] = itemsOf(messages)
  const system = fieldsOf(first)
  if (system?.role === 'system' && isText(system.content))
    return [{ ...system, content: joinTexts([system.content, '\n\n', instruction]) }, ...rest]
  return [{ role: 'system', content: instruction }, ...itemsOf(messages)]
}
