import type { JsonObject } from '../wire/json-fields.ts'

/** A tool as its client knows it. In a chat each one is a function. */
export type AskedTool = {
  readonly kind: 'function' | 'custom' | 'tool_search'
  readonly name: string
  readonly namespace?: string
}

/** What the response to a Responses request repeats of it, and how it undoes what a chat has in another way. */
export type ResponsesAsked = {
  readonly model: string
  /** Fields of the response that only repeat the request. */
  readonly repeated: JsonObject
  /** The tier that is shown if the provider names none. */
  readonly serviceTier: string
  /** The client's tool behind a function that the model called. */
  readonly toolOf: (functionName: string) => AskedTool
  /** The client's path of a field of the chat request. */
  readonly pathOf: (path: string) => string
}

/** Of a request that could not be read. */
export const nothingAsked: ResponsesAsked = {
  model: '',
  repeated: repeatedOf({}, []),
  serviceTier: 'default',
  toolOf: (name) => ({ kind: 'function', name }),
  pathOf: (path) => path,
}

/** The fields of a response that only repeat its request. */
export function repeatedOf(body: JsonObject, tools: readonly JsonObject[]): JsonObject {
  return {
    access_programs: null,
    background: false,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    max_tool_calls: null,
    metadata: body.metadata ?? {},
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    frequency_penalty: body.frequency_penalty ?? 0,
    presence_penalty: body.presence_penalty ?? 0,
    previous_response_id: null,
    prompt_cache_key: body.prompt_cache_key ?? null,
    reasoning: { effort: null, summary: null, ...(body.reasoning as JsonObject | null | undefined) },
    safety_identifier: body.safety_identifier ?? null,
    temperature: body.temperature ?? 1,
    text: { format: { type: 'text' }, verbosity: 'medium', ...(body.text as JsonObject | null | undefined) },
    tool_choice: body.tool_choice ?? 'auto',
    tools: tools.map(shownTool),
    top_logprobs: 0,
    top_p: body.top_p ?? 1,
    truncation: 'disabled',
    ...(typeof body.user === 'string' ? { user: body.user } : {}),
  }
}

/** SDKs read both fields of every function. */
function shownTool(tool: JsonObject): JsonObject {
  return tool.type === 'function' ? { parameters: null, strict: null, ...tool } : tool
}
