import { fieldsOf, type JsonObject } from '../../wire/json-fields.ts'
import { isText } from '../../wire/long-text.ts'
import { bool, byKind, type Check, list, number, object, oneOf, text, whole } from './field-checks.ts'

const anyText = text()
const name = text(1)
const anyObject = object({})

const part = object({ type: name, text: anyText, refusal: anyText }, ['type'])
const content = byKind({ string: anyText, list: list(part) })
const output = byKind({ string: anyText, list: list(part) })
const names = { call_id: name, name, namespace: anyText }
const texts = list(object({ text: anyText }))

/** The fields of each kind of item that has a place in a chat. */
const itemChecks: ReadonlyMap<string, Check> = new Map([
  [
    'message',
    object({ role: oneOf(['user', 'assistant', 'system', 'developer']), content }, ['role', 'content']),
  ],
  ['function_call', object({ ...names, arguments: anyText }, ['call_id', 'name', 'arguments'])],
  ['function_call_output', object({ call_id: name, output }, ['call_id', 'output'])],
  ['custom_tool_call', object({ ...names, input: anyText }, ['call_id', 'name', 'input'])],
  ['custom_tool_call_output', object({ call_id: name, output }, ['call_id', 'output'])],
  ['reasoning', object({ summary: texts, content: texts, encrypted_content: anyText })],
  ['tool_search_call', object({ call_id: name })],
  ['tool_search_output', object({ call_id: name, tools: list(anyObject) }, ['tools'])],
  ['additional_tools', object({ tools: list(anyObject) }, ['tools'])],
  ['item_reference', object({ id: name }, ['id'])],
])

/** The first problem of an item; none of kinds that have no place in a chat. */
export const checkItem: Check = (value) =>
  fieldsOf(value) === undefined ? anyObject(value) : itemChecks.get(kindOfItem(value as JsonObject))?.(value)

/** Whether a chat has a place for items of this kind. */
export function isItemOfChat(kind: string): boolean {
  return itemChecks.has(kind)
}

/** The type of an item. Clients leave it out where the other fields show it. */
export function kindOfItem({ type, role, id, call_id: callId, ...fields }: JsonObject): string {
  if (isText(type)) return String(type)
  if (role !== undefined) return 'message'
  if (callId !== undefined) return fields.output === undefined ? 'function_call' : 'function_call_output'
  return id !== undefined && Object.keys(fields).length === 0 ? 'item_reference' : 'unknown'
}

const format = object({ type: oneOf(['text', 'json_object', 'json_schema']) }, ['type'])
const jsonSchema = object({ name, schema: anyObject, strict: bool, description: anyText }, ['name', 'schema'])
const checkFormat: Check = (value) =>
  format(value) ?? (fieldsOf(value)?.type === 'json_schema' ? jsonSchema(value) : undefined)

/** Types and bounds as in OpenAI's published schema; unknown fields pass, and items are checked one by one. */
export const checkBody = object(
  {
    model: name,
    input: byKind({ string: anyText, list: list(anyObject, { min: 1 }) }),
    instructions: anyText,
    stream: bool,
    stream_options: anyObject,
    store: bool,
    background: bool,
    previous_response_id: anyText,
    temperature: number(0, 2),
    top_p: number(0, 1),
    presence_penalty: number(-2, 2),
    frequency_penalty: number(-2, 2),
    max_output_tokens: whole(1),
    tools: list(anyObject),
    tool_choice: byKind({
      string: oneOf(['none', 'auto', 'required']),
      object: object({ type: name }, ['type']),
    }),
    parallel_tool_calls: bool,
    text: object({ format: checkFormat, verbosity: anyText }),
    reasoning: object({ effort: anyText, summary: anyText }),
    include: list(anyText),
    truncation: oneOf(['auto', 'disabled']),
    metadata: anyObject,
    service_tier: anyText,
    user: anyText,
    safety_identifier: anyText,
    prompt_cache_key: anyText,
    prompt_cache_retention: anyText,
  },
  ['model', 'input'],
)

export const checkFunctionTool = object({ name, parameters: anyObject, description: anyText, strict: bool }, [
  'name',
])
export const checkCustomTool = object(
  { name, description: anyText, format: object({ type: anyText, syntax: anyText, definition: anyText }) },
  ['name'],
)
export const checkNamespace = object({ name, tools: list(anyObject) }, ['name', 'tools'])
export const checkSearchTool = object({ description: anyText, parameters: anyObject })
