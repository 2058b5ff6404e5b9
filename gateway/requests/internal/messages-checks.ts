import { fieldsOf } from '../../wire/json-fields.ts'
import { bool, byKind, type Check, list, number, object, oneOf, text, whole } from './field-checks.ts'

const anyText = text()
const name = text(1)
const anyObject = object({})
/** Kinds of blocks and tools are an open list: only the fields of those with a place in a chat are looked at. */
const block = object({ type: name }, ['type'])
const blocks = byKind({ string: anyText, list: list(block) })
const effort = object({ effort: anyText })

const source = object({ type: name, media_type: anyText, data: anyText, url: anyText }, ['type'])
const blockChecks: ReadonlyMap<string, Check> = new Map([
  ['text', object({ text: anyText }, ['text'])],
  ['image', object({ source }, ['source'])],
  ['document', object({ source, title: anyText, context: anyText }, ['source'])],
  ['search_result', object({ source: anyText, title: anyText, content: list(block) })],
  ['thinking', object({ thinking: anyText, signature: anyText })],
  ['redacted_thinking', object({ data: anyText })],
  ['tool_use', object({ id: name, name, input: anyObject }, ['id', 'name', 'input'])],
  ['tool_result', object({ tool_use_id: name, content: blocks, is_error: bool }, ['tool_use_id'])],
  ['tool_reference', object({ tool_name: name }, ['tool_name'])],
])

/** The first problem of a block; none of kinds that have no place in a chat. */
export const checkBlock: Check = (value) =>
  block(value) ?? blockChecks.get(String(fieldsOf(value)?.type))?.(value)

/** The first problem of a message, its blocks left out. */
export const checkMessage = object(
  { role: oneOf(['user', 'assistant', 'system']), content: blocks, output_config: effort },
  ['role', 'content'],
)

/** A tool that the client runs, as it describes it itself. */
export const checkOwnTool = object(
  { name, description: anyText, input_schema: anyObject, strict: bool, defer_loading: bool },
  ['name', 'input_schema'],
)

const format = object({ type: oneOf(['json_schema']), schema: anyObject }, ['type', 'schema'])

/** Types and bounds as in Anthropic's published types; unknown fields pass, and messages are checked one by one. */
export const checkMessagesBody = object(
  {
    model: name,
    messages: list(anyObject, { min: 1 }),
    max_tokens: whole(1),
    system: blocks,
    stream: bool,
    temperature: number(0, 1),
    top_p: number(0, 1),
    top_k: whole(0),
    stop_sequences: list(anyText, { max: 64 }),
    tools: list(anyObject),
    tool_choice: object({ type: oneOf(['auto', 'any', 'tool', 'none']), name: anyText }, ['type']),
    thinking: object({ type: name, budget_tokens: whole(0), display: anyText }, ['type']),
    output_config: object({ effort: anyText, format }),
    output_format: format,
  },
  ['model', 'messages', 'max_tokens'],
)
