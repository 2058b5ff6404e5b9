import {
  base,
  call,
  clock,
  closed,
  extra,
  ofUser,
  on,
  type Rejection,
  result,
  say,
  toolTurns,
  weather,
} from './requests.ts'

const orphan = (at: string, id: string) =>
  `${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`
const unanswered = (at: string, id: string) =>
  `${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${id}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`

/** Tools, their calls and results. */
export const toolRejections: readonly Rejection[] = [
  {
    name: 'with an id of a call that has other characters',
    request: toolTurns,
    change: { 'messages.1.content.0.id': 'call.1' },
    message: "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
  },
  {
    name: 'with arguments of a call as text',
    request: toolTurns,
    change: { 'messages.1.content.0.input': '{}' },
    message: 'messages.1.content.0.tool_use.input: Input should be a valid dictionary',
  },
  {
    name: 'with a name of a tool that has a dot',
    request: { ...base, tools: [{ ...weather, name: 'a'.repeat(128) }] },
    change: { 'tools.0.name': 'get.weather' },
    message: "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
  },
  {
    name: 'with a name of a tool above 128 characters',
    request: { ...base, tools: [{ ...weather, name: 'a'.repeat(128) }] },
    change: { 'tools.0.name': 'a'.repeat(129) },
    message: "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
  },
  {
    name: 'with two tools of one name',
    request: { ...base, tools: [weather, clock] },
    change: { 'tools.1.name': 'weather' },
    message: 'tools: Tool names must be unique.',
  },
  {
    name: 'with a strict tool whose schema is open',
    request: { ...base, tools: [{ ...weather, strict: true, input_schema: closed }] },
    change: { 'tools.0.input_schema.additionalProperties': undefined },
    message: "tools.0.custom: For 'object' type, 'additionalProperties' must be explicitly set to false",
  },
  {
    name: 'with a choice of a tool that it does not have',
    request: { ...base, tools: [weather], tool_choice: { type: 'tool', name: 'weather' } },
    change: { 'tool_choice.name': 'clock' },
    message: "Tool 'clock' not found in provided tools",
  },
  {
    name: 'with a forced call, without tools',
    request: { ...base, tool_choice: { type: 'auto' } },
    change: { 'tool_choice.type': 'any' },
    message: 'tool_choice.any may only be specified while providing tools',
  },
  {
    name: 'with a forced call, on a model that cannot be forced',
    request: on('claude-sonnet-5-5', { tools: [weather], tool_choice: { type: 'auto' } }),
    change: { 'tool_choice.type': 'any' },
    message: 'tool_choice: type "tool" and "any" are not supported for this model.',
  },
  {
    name: 'with a choice of no tool that also forbids parallel calls',
    request: { ...base, tools: [weather], tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
    change: { 'tool_choice.type': 'none' },
    message: `tool_choice.none.disable_parallel_tool_use: ${extra}`,
  },
  {
    name: 'with a call that has no result',
    request: toolTurns,
    change: { 'messages.2.content': 'Well?' },
    message: unanswered('messages.1', 'toolu_1'),
  },
  {
    name: 'with a call as its end',
    request: toolTurns,
    change: { 'messages.2': { role: 'assistant', content: [say('So')] } },
    message: unanswered('messages.1', 'toolu_1'),
  },
  {
    name: 'with a result after text',
    request: toolTurns,
    change: { 'messages.2.content': [say('Well?'), result] },
    message: unanswered('messages.1', 'toolu_1'),
  },
  {
    name: 'with a result that has no call',
    request: toolTurns,
    change: { 'messages.1.content': 'Hello' },
    message: orphan('messages.2.content.0', 'toolu_1'),
  },
  {
    name: 'with two results of one call',
    request: toolTurns,
    change: { 'messages.2.content': [result, result] },
    message:
      'messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with id: toolu_1',
  },
  {
    name: 'with two calls of one id',
    request: toolTurns,
    change: { 'messages.1.content': [call, call] },
    message: 'messages.1.content.1: `tool_use` ids must be unique',
  },
  {
    name: 'with a call by the user',
    request: ofUser(say('Hi')),
    change: { 'messages.0.content.0': call },
    message: 'messages.0: `tool_use` blocks can only be in `assistant` messages',
  },
]
