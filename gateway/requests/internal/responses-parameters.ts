import { fieldsOf, itemsOf, type JsonObject } from '../../wire/json-fields.ts'
import type { DroppedField } from '../dropped-field.ts'
import type { AskedTools } from './asked-tools.ts'
import type { Fault } from './field-checks.ts'

/** Parameters that have the same name and meaning in a chat. */
const same = [
  'temperature',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
  'service_tier',
  'user',
  'safety_identifier',
  'prompt_cache_key',
  'prompt_cache_retention',
] as const

/** Parameters that are read one by one, and those that change nothing about the model's output. */
const known: ReadonlySet<string> = new Set([
  ...same,
  'model',
  'input',
  'instructions',
  'stream',
  'stream_options',
  'store',
  'background',
  'conversation',
  'prompt',
  'previous_response_id',
  'max_output_tokens',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'text',
  'reasoning',
  'include',
  'truncation',
  'metadata',
  'client_metadata',
])

/** The parameters of the chat, without messages. Those without a place there are added to `dropped`. */
export function parametersOf(
  body: JsonObject,
  tools: AskedTools,
  dropped: DroppedField[],
): { readonly parameters: JsonObject } | { readonly fault: Fault } {
  noteDropped(body, dropped)
  const chosen = chooseTools(body, tools, dropped)
  if ('fault' in chosen) return chosen
  const { format, verbosity } = fieldsOf(body.text) ?? {}
  const { effort } = fieldsOf(body.reasoning) ?? {}
  const parameters = {
    ...Object.fromEntries(same.map((name) => [name, body[name]])),
    stream: body.stream === true ? true : null,
    max_tokens: body.max_output_tokens,
    response_format: responseFormatOf(fieldsOf(format)),
    verbosity,
    reasoning_effort: effort,
    ...chosen.parameters,
  }
  return { parameters: Object.fromEntries(Object.entries(parameters).filter(([, value]) => isGiven(value))) }
}

function noteDropped(body: JsonObject, dropped: DroppedField[]): void {
  for (const [name, value] of Object.entries(body))
    if (!known.has(name) && isGiven(value)) dropped.push({ name, path: name })
  if (body.truncation === 'auto') dropped.push({ name: 'truncation', path: 'truncation' })
  for (const [at, included] of itemsOf(body.include).entries())
    if (included !== 'reasoning.encrypted_content') dropped.push({ name: 'include', path: `include[${at}]` })
}

function responseFormatOf(format: JsonObject | undefined): JsonObject | undefined {
  if (format === undefined || format.type === 'text') return undefined
  const { type, ...schema } = format
  return type === 'json_schema' ? { type, json_schema: schema } : { type }
}

type Chosen = { readonly parameters: JsonObject } | { readonly fault: Fault }

/** The functions and which of them must be called. Providers reject a choice without tools. */
function chooseTools(body: JsonObject, tools: AskedTools, dropped: DroppedField[]): Chosen {
  const { tool_choice: choice, parallel_tool_calls: parallel } = body
  const given = fieldsOf(choice)
  if (given?.type === 'allowed_tools') return allowTools(given, parallel, tools)
  const named = given === undefined ? undefined : tools.find(String(given.type), given.name, given.namespace)
  if (named === undefined && (given?.type === 'function' || given?.type === 'custom'))
    return { fault: { path: '.tool_choice.name', problem: 'must name a tool of this request' } }
  const isLost = named === undefined && (given !== undefined || (choice === 'required' && tools.isEmpty))
  if (isLost) dropped.push({ name: 'tool_choice', path: 'tool_choice' })
  if (tools.isEmpty) return { parameters: {} }
  const tool_choice =
    named === undefined
      ? isLost
        ? undefined
        : choice
      : { type: 'function', function: { name: tools.sentName(named) } }
  return { parameters: { tools: tools.functions(), tool_choice, parallel_tool_calls: parallel } }
}

/** Not every provider has such a list: the model gets only these tools. Those that were dropped are not looked for. */
function allowTools({ mode, tools: given }: JsonObject, parallel: unknown, tools: AskedTools): Chosen {
  const allowed = []
  for (const [at, item] of itemsOf(given).entries()) {
    const { type, name, namespace } = fieldsOf(item) ?? {}
    const tool = tools.find(String(type), name, namespace)
    if (tool !== undefined) allowed.push(tool)
    else if (type === 'function' || type === 'custom')
      return {
        fault: { path: `.tool_choice.tools[${at}].name`, problem: 'must name a tool of this request' },
      }
  }
  if (allowed.length === 0) return { parameters: {} }
  const tool_choice = mode === 'required' ? 'required' : 'auto'
  return { parameters: { tools: tools.functions(allowed), tool_choice, parallel_tool_calls: parallel } }
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}
