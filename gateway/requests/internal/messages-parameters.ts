import { fieldsOf, itemsOf, type JsonObject } from '../../wire/json-fields.ts'
import { isText } from '../../wire/long-text.ts'
import type { DroppedField } from '../dropped-field.ts'
import type { Fault } from './field-checks.ts'
import type { MessageTools } from './message-tools.ts'

/** Parameters that have the same name and meaning in a chat. */
const same = ['max_tokens', 'temperature', 'top_p', 'top_k'] as const

/** Parameters that are read one by one. Others change nothing about the model's output, or only Anthropic has them. */
const known: ReadonlySet<string> = new Set([
  ...same,
  'model',
  'messages',
  'system',
  'stream',
  'stop_sequences',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
  'output_format',
])

/** Levels of effort, weakest first, and the most tokens to think with that mean them: the budgets that Anthropic's adapter sets. */
const budgets = [
  ['low', 4_095],
  ['medium', 16_383],
] as const

/**
 * The parameters of the chat, without messages. Those without a place there are added to `dropped`.
 *
 * @param lastEffort that a message sets, from which on it applies.
 */
export function messagesParametersOf(
  body: JsonObject,
  tools: MessageTools,
  lastEffort: unknown,
  dropped: DroppedField[],
): { readonly parameters: JsonObject } | { readonly fault: Fault } {
  for (const [name, value] of Object.entries(body))
    if (!known.has(name) && isGiven(value)) dropped.push({ name, path: name })
  const chosen = chooseTools(body, tools, dropped)
  if ('fault' in chosen) return chosen
  const { effort, format } = fieldsOf(body.output_config) ?? {}
  const stops = itemsOf(body.stop_sequences)
  const parameters = {
    ...Object.fromEntries(same.map((name) => [name, body[name]])),
    stream: body.stream === true ? true : null,
    stop: stops.length === 0 ? null : stops.map(String),
    response_format: responseFormatOf(fieldsOf(format ?? body.output_format)),
    reasoning_effort: effortOf(fieldsOf(body.thinking), lastEffort ?? effort),
    ...chosen.parameters,
  }
  return { parameters: Object.fromEntries(Object.entries(parameters).filter(([, value]) => isGiven(value))) }
}

/** `null`: the model decides. A number of tokens to think with has no place in a chat. */
function effortOf(thinking: JsonObject | undefined, effort: unknown): string | null {
  if (thinking?.type === 'disabled') return 'none'
  if (isText(effort)) return String(effort)
  const { type, budget_tokens: budget } = thinking ?? {}
  if (type !== 'enabled' || typeof budget !== 'number') return null
  return budgets.find(([, most]) => budget <= most)?.[0] ?? 'high'
}

function responseFormatOf(format: JsonObject | undefined): JsonObject | null {
  if (format === undefined) return null
  return { type: 'json_schema', json_schema: { name: 'output', schema: format.schema, strict: true } }
}

/** The functions and which of them must be called. Providers reject a choice without tools. */
function chooseTools(
  body: JsonObject,
  tools: MessageTools,
  dropped: DroppedField[],
): { readonly parameters: JsonObject } | { readonly fault: Fault } {
  const choice = fieldsOf(body.tool_choice)
  const named = choice?.type === 'tool' ? String(choice.name ?? '') : undefined
  const isThere = named === undefined || tools.has(named)
  if (!isThere && !isDropped(body.tools, named))
    return { fault: { path: '.tool_choice.name', problem: 'must name a tool of this request' } }
  const functions = tools.functions(named)
  const isLost = !isThere || (choice?.type === 'any' && functions.length === 0)
  if (isLost) dropped.push({ name: 'tool_choice', path: 'tool_choice' })
  if (functions.length === 0) return { parameters: {} }
  const isSerial = choice?.disable_parallel_tool_use === true
  return {
    parameters: {
      tools: functions,
      tool_choice: isLost ? null : toolChoiceOf(choice?.type, named, tools),
      parallel_tool_calls: isSerial ? false : null,
    },
  }
}

/** Whether a tool of this name is there that no chat can have. */
function isDropped(tools: unknown, name: string): boolean {
  return itemsOf(tools).some((tool) => fieldsOf(tool)?.name === name)
}

function toolChoiceOf(type: unknown, named: string | undefined, tools: MessageTools): unknown {
  if (named !== undefined) return { type: 'function', function: { name: tools.sentName(named) } }
  return type === 'any' ? 'required' : (type ?? null)
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}
