import type { JsonObject } from '../../wire/json-fields.ts'
import type { OpenAiUsage } from '../../wire/openai-usage.ts'
import type { MessageOutput } from './message-output.ts'

/** The id of the message that answers a request. */
export function messageIdOf(requestId: string): string {
  return `msg_${requestId}`
}

/** How a message ended. */
export type MessageEnd = {
  readonly stop_reason: string
  readonly stop_sequence: string | null
  readonly stop_details: JsonObject | null
}

/** A message with every field that Anthropic publishes. */
export function messageObject(
  requestId: string,
  model: string,
  message: {
    readonly content: readonly JsonObject[]
    readonly end: MessageEnd | null
    readonly usage: JsonObject
  },
): JsonObject {
  return {
    id: messageIdOf(requestId),
    type: 'message',
    role: 'assistant',
    model,
    content: message.content,
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    container: null,
    diagnostics: null,
    ...message.end,
    usage: message.usage,
  }
}

/** @param reported the stop sequence that ended the message, if its provider reports one. @param asked those of the request. */
export function endOf(
  { finish, isRefused }: MessageOutput,
  reported: string | undefined,
  asked: readonly string[],
): MessageEnd {
  const stopSequence = reported !== undefined && asked.includes(reported) ? reported : null
  const isRefusal = isRefused || finish === 'content_filter'
  return {
    stop_reason: isRefusal ? 'refusal' : stopReasonOf(finish, stopSequence),
    stop_sequence: isRefusal ? null : stopSequence,
    stop_details: isRefusal ? { type: 'refusal', category: null, explanation: null } : null,
  }
}

function stopReasonOf(finish: MessageOutput['finish'], stopSequence: string | null): string {
  if (finish === 'tool_calls' || finish === 'function_call') return 'tool_use'
  if (finish === 'length') return 'max_tokens'
  return stopSequence === null ? 'end_turn' : 'stop_sequence'
}

/** A frame of a stream. @param data in one line. */
export function messageFrame(type: unknown, data: string): string {
  return `event: ${type}\ndata: ${data}\n\n`
}

/** The tokens of a message that begins: those of its prompt as they are estimated. */
export function usageBefore(promptTokens: number): JsonObject {
  return {
    ...classesOf(Math.max(promptTokens, 1), 0, 0),
    output_tokens: 0,
    output_tokens_details: null,
    ...notOurs,
  }
}

/** Usage by this API's names, and what it cost. Each class of input is apart from the others. */
export function messageUsage(usage: OpenAiUsage, costRub: string): JsonObject {
  return { ...deltaUsage(usage, costRub), ...notOurs }
}

/** The same for the end of a stream. */
export function deltaUsage(usage: OpenAiUsage, costRub: string): JsonObject {
  const { cached_tokens: cached, cache_write_tokens: written = 0 } = usage.prompt_tokens_details
  return {
    ...classesOf(usage.prompt_tokens - cached - written, cached, written),
    output_tokens: usage.completion_tokens,
    output_tokens_details: { thinking_tokens: usage.completion_tokens_details.reasoning_tokens },
    server_tool_use: null,
    cost_rub: costRub,
  }
}

function classesOf(input: number, cached: number, written: number): JsonObject {
  return {
    input_tokens: input,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cached,
  }
}

const notOurs = {
  cache_creation: null,
  server_tool_use: null,
  service_tier: null,
  inference_geo: null,
  speed: null,
} as const
