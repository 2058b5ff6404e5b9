import { fieldsOf, itemsOf, type JsonObject } from '../../../../wire/json-fields.ts'
import type { Failure } from '../../../failure.ts'
import { type AdaptedChat, isFailure } from '../../../provider-adapter.ts'
import { createToolNames, type ToolNames } from '../../tool-names.ts'
import { writeConversation } from './messages.ts'
import { thinkingOf } from './thinking.ts'
import { writeToolChoice, writeTools } from './tools.ts'

/** Names of tools and ids of calls: the API takes no others. */
const allowed = { pattern: /[\w-]/, lengthMax: 128 }

type Written = { readonly json: JsonObject; readonly toolNames: ToolNames }

/** The body of a message; a failure names the field that the API cannot express. */
export function* writeRequest({
  fields,
  mode,
  dialect,
}: AdaptedChat): Generator<undefined, Written | Failure> {
  const take = (name: string) => {
    const value = fields.get(name)
    fields.delete(name)
    return value
  }
  const messages = itemsOf(take('messages'))
  const tools = itemsOf(take('tools'))
  const toolNames = createToolNames(namesIn(messages, tools), allowed)
  const conversation = yield* writeConversation(messages, {
    toolNames,
    callIds: createToolNames(idsIn(messages), allowed),
  })
  if (isFailure(conversation)) return conversation
  const format = take('response_format')
  const choice = writeToolChoice(take('tool_choice'), take('parallel_tool_calls'), toolNames)
  const limit = take('max_tokens')
  const { thinking, effort } = thinkingOf(take('reasoning_effort'), Number(limit), dialect.quirks.anthropic)
  const stop = take('stop')
  const user = take('user')
  for (const name of ['model', 'stream', 'stream_options']) take(name)
  const outputConfig = outputConfigOf(format, effort, take('output_config'))
  return {
    toolNames,
    json: {
      model: dialect.model,
      max_tokens: limit,
      ...conversation,
      ...(tools.length === 0 ? {} : { tools: writeTools(tools, toolNames, dialect.quirks.anthropic) }),
      ...(choice === undefined ? {} : { tool_choice: choice }),
      ...(stop === undefined ? {} : { stop_sequences: Array.isArray(stop) ? stop : [stop] }),
      ...(user === undefined ? {} : { metadata: { user_id: user } }),
      ...(thinking === undefined ? {} : { thinking }),
      ...(outputConfig === undefined ? {} : { output_config: outputConfig }),
      // The other fields have the API's own names: sampling, and options that only the route sets.
      ...Object.fromEntries(fields),
      stream: mode === 'stream',
    },
  }
}

function outputConfigOf(format: unknown, effort: string | undefined, own: unknown): JsonObject | undefined {
  const schema = fieldsOf(fieldsOf(format)?.json_schema)?.schema
  if (schema === undefined && effort === undefined) return fieldsOf(own)
  return {
    ...fieldsOf(own),
    ...(effort === undefined ? {} : { effort }),
    ...(schema === undefined ? {} : { format: { type: 'json_schema', schema } }),
  }
}

function namesIn(messages: readonly unknown[], tools: readonly unknown[]): readonly string[] {
  const functions = [...tools, ...messages.flatMap((message) => itemsOf(fieldsOf(message)?.tool_calls))]
  return functions.flatMap((tool) => {
    const name = fieldsOf(fieldsOf(tool)?.function)?.name
    return typeof name === 'string' ? name : []
  })
}

function idsIn(messages: readonly unknown[]): readonly string[] {
  return messages.flatMap((message) =>
    itemsOf(fieldsOf(message)?.tool_calls).flatMap((call) => {
      const id = fieldsOf(call)?.id
      return typeof id === 'string' ? id : []
    }),
  )
}
