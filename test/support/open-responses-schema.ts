import { z } from 'zod'

/** Schemas of Open Responses, version 2026-04-24, of responses and the events of text and function calls (openresponses.org/reference). */

const status = z.enum(['in_progress', 'completed', 'incomplete'])
const text = z.string().nullable()
const count = z.int().nonnegative()

const citation = z.object({
  type: z.literal('url_citation'),
  url: z.string(),
  start_index: z.int(),
  end_index: z.int(),
  title: z.string(),
})

const logprob = z.object({ token: z.string(), logprob: z.number(), bytes: z.array(z.int()) })

const part = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('output_text'),
    text: z.string(),
    annotations: z.array(citation),
    logprobs: z.array(logprob.extend({ top_logprobs: z.array(logprob) })).optional(),
  }),
  z.object({ type: z.literal('refusal'), refusal: z.string() }),
  z.object({ type: z.literal('summary_text'), text: z.string() }),
  z.object({ type: z.literal('reasoning_text'), text: z.string() }),
])

const item = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('message'),
    id: z.string(),
    status,
    role: z.enum(['user', 'assistant', 'system', 'developer']),
    content: z.array(part),
  }),
  z.object({
    type: z.literal('function_call'),
    id: z.string(),
    call_id: z.string(),
    name: z.string(),
    arguments: z.string(),
    status,
  }),
  z.object({
    type: z.literal('reasoning'),
    id: z.string(),
    content: z.array(part).optional(),
    summary: z.array(part),
    encrypted_content: z.string().optional(),
  }),
])

const functionTool = z.object({
  type: z.literal('function'),
  name: z.string(),
  description: text,
  parameters: z.record(z.string(), z.unknown()).nullable(),
  strict: z.boolean().nullable(),
})

const mode = z.enum(['none', 'auto', 'required'])
const functionChoice = z.object({ type: z.literal('function'), name: z.string().optional() })
const allowedChoice = z.object({ type: z.literal('allowed_tools'), tools: z.array(functionChoice), mode })

const usage = z.object({
  input_tokens: count,
  output_tokens: count,
  total_tokens: count,
  input_tokens_details: z.object({ cached_tokens: count }),
  output_tokens_details: z.object({ reasoning_tokens: count }),
})

const textFormat = z.object({
  format: z.discriminatedUnion('type', [
    z.object({ type: z.literal('text') }),
    z.object({ type: z.literal('json_object') }),
    z.object({ type: z.literal('json_schema'), name: z.string(), strict: z.boolean() }),
  ]),
  verbosity: z.enum(['low', 'medium', 'high']).optional(),
})

/** `ResponseResource`: every field is required, except those that say otherwise. */
export const openResponse = z.object({
  id: z.string(),
  object: z.literal('response'),
  created_at: z.int(),
  completed_at: z.int().nullable(),
  status: z.string(),
  incomplete_details: z.object({ reason: z.string() }).nullable(),
  model: z.string(),
  previous_response_id: text,
  instructions: text,
  output: z.array(item),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  tools: z.array(functionTool),
  tool_choice: z.union([mode, functionChoice, allowedChoice]),
  truncation: z.enum(['auto', 'disabled']),
  parallel_tool_calls: z.boolean(),
  text: textFormat,
  top_p: z.number(),
  presence_penalty: z.number(),
  frequency_penalty: z.number(),
  top_logprobs: z.int(),
  temperature: z.number(),
  reasoning: z
    .object({
      effort: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh']).nullable(),
      summary: z.enum(['concise', 'detailed', 'auto']).nullable(),
    })
    .nullable(),
  usage: usage.nullable(),
  max_output_tokens: z.int().nullable(),
  max_tool_calls: z.int().nullable(),
  store: z.boolean(),
  background: z.boolean(),
  service_tier: z.string(),
  metadata: z.unknown(),
  safety_identifier: text,
  prompt_cache_key: text,
})

export type OpenResponse = z.infer<typeof openResponse>

const numbered = { sequence_number: count }
const ofItem = { ...numbered, output_index: count, item: item }
const ofPart = { ...numbered, item_id: z.string(), output_index: count, content_index: count }
const ofCall = { ...numbered, item_id: z.string(), output_index: count }
const withResponse = { ...numbered, response: openResponse }

/** One event of a stream. */
export const openResponsesEvent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('response.created'), ...withResponse }),
  z.object({ type: z.literal('response.in_progress'), ...withResponse }),
  z.object({ type: z.literal('response.completed'), ...withResponse }),
  z.object({ type: z.literal('response.output_item.added'), ...ofItem }),
  z.object({ type: z.literal('response.output_item.done'), ...ofItem }),
  z.object({ type: z.literal('response.content_part.added'), ...ofPart, part }),
  z.object({ type: z.literal('response.content_part.done'), ...ofPart, part }),
  z.object({
    type: z.literal('response.output_text.delta'),
    ...ofPart,
    delta: z.string(),
    logprobs: z.array(logprob),
  }),
  z.object({
    type: z.literal('response.output_text.done'),
    ...ofPart,
    text: z.string(),
    logprobs: z.array(logprob),
  }),
  z.object({ type: z.literal('response.function_call_arguments.delta'), ...ofCall, delta: z.string() }),
  z.object({ type: z.literal('response.function_call_arguments.done'), ...ofCall, arguments: z.string() }),
])
