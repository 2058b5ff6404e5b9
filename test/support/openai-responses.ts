import { createHash } from 'node:crypto'
import { publishedType } from './published-types.ts'
import {
  type ProviderApi,
  type ReceivedRequest,
  refusal,
  type Script,
  type Step,
  streamHeaders,
} from './upstream.ts'

type Fields = { readonly [field: string]: unknown }

/** An item of a response. */
export type Item = Fields & { readonly type: string; readonly id: string }

/** What this server knows although OpenAI publishes it nowhere: later versions of the API. */
const isNew = (name: unknown) => String(name).startsWith('x_')

/** Differences that OpenAI accepts: its clients send them. */
const findProblem = publishedType('ResponseCreateParamsBase', {
  '.id': 'Codex returns reasoning without',
  '].type': 'the AI SDK returns messages without',
  '.status': 'LangChain and the AI SDK return messages without',
  '.annotations': 'the AI SDK returns texts without',
  '.logprobs': 'LangChain returns texts without',
  '.parsed_arguments': 'the SDK for Node adds it to the calls that it reads',
  '.client_metadata': 'Codex sends it',
  '.internal_chat_message_metadata_passthrough': 'Codex sends it to the provider that it calls openai',
  '].name': 'Codex adds it to what a script notifies',
  '.strict': 'true is the default (API reference, function tools)',
  '.detail': 'auto is the default (API reference, input images)',
})
const marks = 'own-encrypted-'

/** What this account encrypted: it takes back nothing else. */
export function encryptedBy(text: string): string {
  return `${marks}${createHash('sha256').update(text).digest('base64url')}`
}

/**
 * OpenAI's Responses API of an account that stores nothing: only published fields and items, besides those that begin with
 * `x_`; reasoning only with what was encrypted here.
 */
export const responsesApi: ProviderApi = {
  basePath: '/v1',
  modelOf: ({ body, path, method }) =>
    method === 'GET' && path.endsWith('/models') ? '/models' : String(body.model),
  faultOf({ path, method, body }) {
    if (method === 'GET') return undefined
    const [message, status] = path === '/v1/responses' ? findFault(body) : [`Unknown URL ${path}`, 404]
    return message === undefined ? undefined : { message, answer: refusal(status, message) }
  },
  hello: ({ body }) => ownResponse(body, [messageItem('Hello')]),
}

function findFault(body: Fields): readonly [message: string | undefined, status: number] {
  if (body.store !== false) return ['This account must not store responses.', 400]
  if (typeof body.max_output_tokens === 'number' && body.max_output_tokens < 16)
    return ["Invalid 'max_output_tokens': integer below minimum value.", 400]
  for (const item of Array.isArray(body.input) ? (body.input as readonly Fields[]) : []) {
    if (item.type === 'item_reference') return [`Item with id '${item.id}' not found.`, 404]
    const { encrypted_content: encrypted } = item
    if (item.type === 'reasoning' && typeof encrypted !== 'string')
      return [`Item with id '${item.id}' not found. Items are not persisted when store is set to false.`, 404]
    if (typeof encrypted === 'string' && !encrypted.startsWith(marks))
      return [`The encrypted content for item ${item.id} could not be verified.`, 400]
  }
  return [findProblem(withoutNew(body)), 400]
}

/** A request without what is too new for the published type. */
function withoutNew(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((item) => !isNew((item as Fields)?.type)).map(withoutNew)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !isNew(name))
      .map(([name, inner]) => [name, withoutNew(inner)]),
  )
}

export function messageItem(text: string, id = 'msg_own'): Item {
  const content = [{ type: 'output_text', text, annotations: [], logprobs: [] }]
  return { type: 'message', id, status: 'completed', role: 'assistant', content }
}

export function refusalItem(refusal: string, id = 'msg_own'): Item {
  const content = [{ type: 'refusal', refusal }]
  return { type: 'message', id, status: 'completed', role: 'assistant', content }
}

export function reasoningItem(thought: string, id = 'rs_own'): Item {
  return {
    type: 'reasoning',
    id,
    summary: [{ type: 'summary_text', text: thought }],
    encrypted_content: encryptedBy(thought),
  }
}

export function callItem(name: string, given: object, id = 'fc_own'): Item {
  const written = JSON.stringify(given)
  return { type: 'function_call', id, call_id: `call_${id}`, name, arguments: written, status: 'completed' }
}

const usage = {
  input_tokens: 10,
  input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  output_tokens: 5,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 15,
}

type Counts = { readonly input?: number; readonly cached?: number; readonly reasoning?: number }

/** The counts of a response, where a script has no others. */
export function usageOf({ input = usage.input_tokens, ...counts }: Counts = {}) {
  return {
    ...usage,
    input_tokens: input,
    total_tokens: input + usage.output_tokens,
    input_tokens_details: { cached_tokens: counts.cached ?? 0, cache_write_tokens: 0 },
    output_tokens_details: { reasoning_tokens: counts.reasoning ?? 0 },
  }
}

/** The response object to a request. */
export function responseObject(request: Fields, fields: Fields = {}): Fields {
  return {
    id: 'resp_own',
    object: 'response',
    access_programs: null,
    background: false,
    frequency_penalty: 0,
    max_tool_calls: null,
    presence_penalty: 0,
    prompt_cache_key: null,
    safety_identifier: null,
    top_logprobs: 0,
    created_at: 1_700_000_000,
    status: 'completed',
    completed_at: 1_700_000_001,
    error: null,
    incomplete_details: null,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    model: `${request.model}-2026-01-01`,
    output: [],
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    service_tier: 'default',
    store: false,
    temperature: 1,
    text: { format: { type: 'text' }, verbosity: 'medium' },
    tool_choice: request.tool_choice ?? 'auto',
    tools: Array.isArray(request.tools) ? request.tools.map(echoed) : [],
    top_p: 1,
    truncation: 'disabled',
    metadata: {},
    usage: null,
    ...fields,
  }
}

/** A tool as OpenAI repeats it: a function with its defaults. */
function echoed(tool: Fields): Fields {
  return tool.type === 'function' ? { description: null, strict: true, ...tool } : tool
}

/** A whole response, or a stream of it, as the request asks. */
export function ownResponse(request: Fields, items: readonly Item[], fields: Fields = {}): Script {
  if (request.stream === true) return ownStream(request, itemEvents(items), { output: items, ...fields })
  const response = responseObject(request, { output: items, usage, ...fields })
  return { steps: [{ send: JSON.stringify(response) }] }
}

/** The events between the first two and the last. `pieces`: of each text. */
export function itemEvents(items: readonly Item[], pieces = 2): readonly Fields[] {
  return items.flatMap((item, output_index) => {
    const place = { item_id: item.id, output_index }
    return [
      { type: 'response.output_item.added', output_index, item: { ...item, ...begunOf(item) } },
      ...contentEvents(item, place, pieces),
      { type: 'response.output_item.done', output_index, item },
    ]
  })
}

function begunOf(item: Item): Fields {
  if (item.type === 'message') return { status: 'in_progress', content: [] }
  if (item.type === 'reasoning') return { summary: [] }
  if (item.type === 'custom_tool_call') return { status: 'in_progress', input: '' }
  return item.type === 'function_call' ? { status: 'in_progress', arguments: '' } : {}
}

function contentEvents(item: Item, place: Fields, pieces: number): readonly Fields[] {
  if (item.type === 'message') {
    const [part] = item.content as readonly [Fields]
    const at = { ...place, content_index: 0 }
    if (part.type === 'refusal') return refusalEvents(part, at, pieces)
    const { text } = part as { text: string }
    return [
      { type: 'response.content_part.added', ...at, part: { ...part, text: '' } },
      ...cut(text, pieces).map((delta) => ({
        type: 'response.output_text.delta',
        ...at,
        delta,
        logprobs: [],
      })),
      { type: 'response.output_text.done', ...at, text, logprobs: [] },
      { type: 'response.content_part.done', ...at, part },
    ]
  }
  if (item.type === 'reasoning') {
    const [part] = item.summary as readonly [Fields]
    const at = { ...place, summary_index: 0 }
    const text = String(part.text)
    return [
      { type: 'response.reasoning_summary_part.added', ...at, part: { ...part, text: '' } },
      ...cut(text, pieces).map((delta) => ({ type: 'response.reasoning_summary_text.delta', ...at, delta })),
      { type: 'response.reasoning_summary_text.done', ...at, text },
      { type: 'response.reasoning_summary_part.done', ...at, part },
    ]
  }
  if (item.type === 'custom_tool_call') {
    const { input } = item as unknown as { input: string }
    return [
      ...cut(input, pieces).map((delta) => ({
        type: 'response.custom_tool_call_input.delta',
        ...place,
        delta,
      })),
      { type: 'response.custom_tool_call_input.done', ...place, input },
    ]
  }
  if (item.type !== 'function_call') return []
  const { arguments: written, name } = item as unknown as { arguments: string; name: string }
  return [
    ...cut(written, pieces).map((delta) => ({
      type: 'response.function_call_arguments.delta',
      ...place,
      delta,
    })),
    { type: 'response.function_call_arguments.done', ...place, name, arguments: written },
  ]
}

function refusalEvents(part: Fields, at: Fields, pieces: number): readonly Fields[] {
  const refusal = String(part.refusal)
  return [
    { type: 'response.content_part.added', ...at, part: { ...part, refusal: '' } },
    ...cut(refusal, pieces).map((delta) => ({ type: 'response.refusal.delta', ...at, delta })),
    { type: 'response.refusal.done', ...at, refusal },
    { type: 'response.content_part.done', ...at, part },
  ]
}

function cut(text: string, pieces: number): readonly string[] {
  const length = Math.ceil(text.length / pieces)
  return Array.from({ length: pieces }, (_, at) => text.slice(at * length, (at + 1) * length)).filter(Boolean)
}

/** A stream with these events; `end: 'none'`: it breaks off. */
export function ownStream(
  request: Fields,
  events: readonly Fields[],
  fields: Fields & { readonly end?: 'none' } = {},
): Script {
  const { end, ...last } = fields
  const open = responseObject(request, { status: 'in_progress', completed_at: null })
  const final = responseObject(request, { usage, ...last })
  const all: readonly Fields[] = [
    { type: 'response.created', response: open },
    { type: 'response.in_progress', response: open },
    ...events,
    ...(end === 'none' ? [] : [{ type: `response.${final.status}`, response: final }]),
  ]
  const cutOff: readonly Step[] = end === 'none' ? [{ cut: 'fin' }] : []
  return { headers: streamHeaders, steps: [...all.map(frameOf), ...cutOff] }
}

/** One event, as OpenAI writes it. */
function frameOf(event: Fields, sequence_number: number): Step {
  const { type, ...rest } = event
  const data = JSON.stringify({ type, sequence_number, ...rest })
  return { send: `event: ${type}\ndata: ${data}\n\n` }
}

/** The bodies that a provider accepted. */
export function acceptedBodies(requests: readonly ReceivedRequest[]): readonly Fields[] {
  return requests.filter(({ fault }) => fault === undefined).map(({ body }) => body)
}
