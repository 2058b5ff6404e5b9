import type { Refusal } from '#core/errors/refusal'
import { invalidValue } from '../wire/errors.ts'
import { fieldsOf, type JsonObject } from '../wire/json-fields.ts'
import {
  bool,
  byKind,
  type Check,
  list,
  number,
  object,
  oneOf,
  text,
  whole,
} from './internal/field-checks.ts'

/** One message of a chat; its other fields go to the provider unchanged. */
export type ChatMessage = {
  readonly role: string
  readonly content?: unknown
  readonly [field: string]: unknown
}

/** The body of a chat request, checked: types and bounds hold; unknown fields are there as they came. */
export type ChatRequest = {
  readonly model: string
  readonly messages: readonly ChatMessage[]
  readonly stream?: boolean
  readonly stream_options?: { readonly include_usage?: boolean; readonly [field: string]: unknown }
  readonly n?: number
  readonly max_tokens?: number
  readonly max_completion_tokens?: number
  readonly [field: string]: unknown
}

/**
 * Parses a body as a chat request, or returns its first problem, with the path of the field as `param`.
 *
 * Nulls that mean "not set" are dropped: at the top, and in messages except `content`. Nulls deeper down may
 * carry meaning (a JSON schema's `default`) and stay.
 */
export function parseChatRequest(
  body: JsonObject,
): { readonly request: ChatRequest } | { readonly refusal: Refusal } {
  const fault = checkRequest(body)
  if (fault !== undefined) return { refusal: invalidValue(fault.path.slice(1), fault.problem) }
  return { request: withoutNulls(body) as ChatRequest }
}

/**
 * Most output tokens of one choice that the request allows, or `undefined` if it names no limit. Of two the
 * larger one, because a provider may know only that parameter.
 */
export function outputTokensMax(request: ChatRequest): number | undefined {
  const limit = Math.max(request.max_tokens ?? 0, request.max_completion_tokens ?? 0)
  return limit === 0 ? undefined : limit
}

const anyText = text()
const name = text(1)
const anyWhole = whole(Number.MIN_SAFE_INTEGER)
const anyObject = object({})
const tool = object({ type: name, function: object({ name, parameters: anyObject }, ['name']) }, ['type'])
const functionCall = object({ name: anyText, arguments: anyText })

/** Parts differ by provider: only what OpenAI's own kinds need is looked at. */
const contentPart: Check = (value) => checkPart(value) ?? checkText(value)
const checkPart = object(
  {
    type: name,
    text: anyText,
    image_url: byKind({ string: anyText, object: object({ url: anyText }, ['url']) }),
  },
  ['type'],
)
const textPart = object({}, ['text'])
const checkText: Check = (value) => (fieldsOf(value)?.type === 'text' ? textPart(value) : undefined)

const roles = ['system', 'developer', 'user', 'assistant', 'tool', 'function']
const anyMessage = object(
  {
    role: oneOf(roles),
    content: byKind({ string: anyText, list: list(contentPart) }),
    name: anyText,
    tool_call_id: anyText,
    tool_calls: list(object({ id: anyText, type: anyText, function: functionCall })),
    function_call: functionCall,
  },
  ['role'],
)
const toolMessage = object({}, ['tool_call_id'])
const noContent = { path: '.content', problem: 'is required' }

const checkMessage: Check = (value) => {
  const fault = anyMessage(value)
  if (fault !== undefined) return fault
  const message = fieldsOf(value)
  if (message?.role === 'tool') return toolMessage(value)
  // Null is an empty content; only an assistant, who may have called tools instead, can do without.
  return message?.content === undefined && message?.role !== 'assistant' ? noContent : undefined
}

/** Far above what any provider takes (DeepSeek: 16): each one's own limit cuts, and is named (`stopMax`). */
const stopsMax = 64

/** Types and bounds as in OpenAI's published schema, except `stop`; unknown fields pass. */
const checkRequest = object(
  {
    model: name,
    messages: list(checkMessage, { min: 1 }),
    stream: bool,
    stream_options: object({ include_usage: bool }),
    temperature: number(0, 2),
    top_p: number(0, 1),
    n: whole(1, 128),
    max_tokens: whole(1),
    max_completion_tokens: whole(1),
    stop: byKind({ string: anyText, list: list(anyText, { max: stopsMax }) }),
    seed: anyWhole,
    presence_penalty: number(-2, 2),
    frequency_penalty: number(-2, 2),
    logit_bias: anyObject,
    logprobs: bool,
    top_logprobs: whole(0, 20),
    tools: list(tool),
    tool_choice: byKind({ string: anyText, object: anyObject }),
    parallel_tool_calls: bool,
    functions: list(object({ name }, ['name'])),
    function_call: byKind({ string: anyText, object: anyObject }),
    response_format: object({ type: name }, ['type']),
    modalities: list(anyText),
    audio: anyObject,
    prediction: anyObject,
    web_search_options: anyObject,
    metadata: anyObject,
    store: bool,
    user: anyText,
    service_tier: anyText,
    reasoning_effort: anyText,
    verbosity: anyText,
    prompt_cache_key: anyText,
    safety_identifier: anyText,
  },
  ['model', 'messages'],
)

function withoutNulls(body: JsonObject): JsonObject {
  const { messages } = body
  const request = dropNulls(body)
  if (!Array.isArray(messages) || !messages.some(hasNull)) return request
  return { ...request, messages: messages.map(dropNulls) }
}

/** `content` may be null only in an assistant's message with tool calls. */
function isNull(field: string, value: unknown): boolean {
  return value === null && field !== 'content'
}

function hasNull(fields: JsonObject): boolean {
  for (const field in fields) if (isNull(field, fields[field])) return true
  return false
}

/** Copies by entries, so that a field named `__proto__` stays plain data. */
function dropNulls(fields: JsonObject): JsonObject {
  if (!hasNull(fields)) return fields
  return Object.fromEntries(Object.entries(fields).filter(([field, value]) => !isNull(field, value)))
}
