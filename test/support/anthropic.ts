import { randomUUID } from 'node:crypto'
import { findAnthropicFault, pathOf } from './anthropic/find-fault.ts'
import { claudeModels, findModel } from './anthropic/models.ts'
import type { MessagesRequest } from './anthropic/request-shape.ts'
import { signatureOf } from './anthropic/signatures.ts'
import { type ProviderApi, type ReceivedRequest, type Script, type Step, startUpstream } from './upstream.ts'

/** A block of an answer. */
type Block = { readonly type: string; readonly [field: string]: unknown }

const isList = ({ method, path }: { readonly method: string; readonly path: string }) =>
  method === 'GET' && pathOf({ path }) === '/v1/models'

/** Anthropic's Messages API, versions 2023-06-01 and 2026-10-21, with the models of `claudeModels`. */
export const anthropicApi: ProviderApi = {
  basePath: '/v1',
  modelOf: (head) => (isList(head) ? '/models' : String(head.body.model)),
  faultOf(head) {
    const fault = findAnthropicFault(head)
    if (fault === undefined) return undefined
    const { status, type, message } = fault
    return { message, answer: anthropicError(status, type, message) }
  },
  hello(request) {
    if (request.model === '/models') return listedModels()
    if (pathOf(request).endsWith('/count_tokens')) return answered({ input_tokens: 10 })
    return helloTo(request)
  },
}

/** A provider with Anthropic's API. */
export function startAnthropic() {
  return startUpstream({ api: anthropicApi })
}

function helloTo({ body, model }: ReceivedRequest): Script {
  const request = body as unknown as MessagesRequest
  if (request.max_tokens === 0) return message([], { model, stop_reason: 'max_tokens' })
  const { thinking } = request
  const isThinking = thinking?.type === 'enabled' || thinking?.type === 'adaptive'
  const display = thinking?.display ?? findModel(model)?.display
  const thought = 'A greeting. I greet back.'
  const signed = { ...thinkingBlock(thought), signature: signatureOf(thought, request) }
  const shown = display === 'omitted' ? { ...signed, thinking: '' } : signed
  const blocks = isThinking ? [shown, textBlock('Hello')] : [textBlock('Hello')]
  const usage = {
    ...(JSON.stringify(body).includes('"cache_control"') && cacheUsage),
    ...(isThinking && { output_tokens: 12, output_tokens_details: { thinking_tokens: 7 } }),
  }
  return body.stream === true
    ? streamedMessage(blocks, { model, usage })
    : message(blocks, { model, usage: { ...plainUsage, ...usage } })
}

/** Token counts of an answer, where a script does not define them; the three classes of input are disjoint. */
const plainUsage = {
  input_tokens: 10,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
  output_tokens: 5,
  output_tokens_details: null,
  server_tool_use: null,
  service_tier: 'standard',
  inference_geo: 'not_available',
  speed: 'standard',
}

const cacheUsage = {
  cache_creation_input_tokens: 20,
  cache_read_input_tokens: 100,
  cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 0 },
}

export const textBlock = (text: string): Block => ({ type: 'text', text, citations: null })

/** Signed, for any conversation. */
export const thinkingBlock = (thinking: string): Block => ({
  type: 'thinking',
  thinking,
  signature: signatureOf(thinking),
})

export const redactedThinkingBlock = (thinking: string): Block => ({
  type: 'redacted_thinking',
  data: signatureOf(thinking),
})

export const toolUseBlock = (id: string, name: string, input: object): Block => ({
  type: 'tool_use',
  id,
  name,
  input,
  caller: { type: 'direct' },
})

function messageBody(content: readonly Block[], fields: object): object {
  const isCall = content.some(({ type }) => type === 'tool_use')
  return {
    id: 'msg_upstream',
    type: 'message',
    role: 'assistant',
    model: 'claude-upstream',
    content,
    stop_reason: isCall ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    stop_details: null,
    container: null,
    diagnostics: null,
    usage: plainUsage,
    ...fields,
  }
}

const requestId = () => `req_${randomUUID().replaceAll('-', '')}`

function answered(value: object): Script {
  return { headers: { 'request-id': requestId() }, steps: [{ send: JSON.stringify(value) }] }
}

/** A whole non-streaming message. `fields` replaces any of its top-level fields. */
export function message(content: readonly Block[], fields: object = {}): Script {
  return answered(messageBody(content, fields))
}

/** An error response. */
export function anthropicError(status: number, type: string, text: string): Script {
  const id = requestId()
  const error = { type: 'error', error: { type, message: text }, request_id: id }
  return { status, headers: { 'request-id': id }, steps: [{ send: JSON.stringify(error) }] }
}

function listedModels(): Script {
  const data = claudeModels.map(({ id, name, createdAt, inputTokensMax, outputTokensMax }) => ({
    type: 'model',
    id,
    display_name: name,
    created_at: createdAt,
    max_input_tokens: inputTokensMax,
    max_tokens: outputTokensMax,
    lifecycle: 'active',
    capabilities: null,
    deprecated_at: null,
    retires_at: null,
    line: null,
  }))
  const [first, last] = [data[0]?.id, data.at(-1)?.id]
  return answered({ data, has_more: false, first_id: first, last_id: last })
}

const frame = (name: string, fields: object = {}): Step => ({
  send: `event: ${name}\ndata: ${JSON.stringify({ type: name, ...fields })}\n\n`,
})

const start = (index: number, block: Block) => frame('content_block_start', { index, content_block: block })
const delta = (index: number, fields: object) => frame('content_block_delta', { index, delta: fields })
const end = (index: number) => frame('content_block_stop', { index })

/** The events of a good stream, to be taken apart by tests that need a bad one. */
export const messageStream = {
  start: (fields: object = {}): Step => {
    const usage = { ...plainUsage, output_tokens: 1 }
    return frame('message_start', { message: messageBody([], { stop_reason: null, usage, ...fields }) })
  },
  ping: frame('ping'),
  blockStart: start,
  blockDelta: delta,
  blockStop: end,
  text: (index: number, pieces: readonly string[]): readonly Step[] => [
    start(index, textBlock('')),
    ...pieces.map((text) => delta(index, { type: 'text_delta', text })),
    end(index),
  ],
  /** Without pieces: hidden thinking, of which only the signature is sent. */
  thinking: (
    index: number,
    pieces: readonly string[],
    signature = signatureOf(pieces.join('')),
  ): readonly Step[] => [
    start(index, { type: 'thinking', thinking: '', signature: '' }),
    ...pieces.map((thinking) => delta(index, { type: 'thinking_delta', thinking })),
    delta(index, { type: 'signature_delta', signature }),
    end(index),
  ],
  redactedThinking: (index: number, data = signatureOf('')): readonly Step[] => [
    start(index, { type: 'redacted_thinking', data }),
    end(index),
  ],
  /** Without fragments: a call without arguments, whose input is `{}`. */
  toolUse: (index: number, id: string, name: string, fragments: readonly string[]): readonly Step[] => [
    start(index, toolUseBlock(id, name, {})),
    ...fragments.map((json) => delta(index, { type: 'input_json_delta', partial_json: json })),
    end(index),
  ],
  /** `usage` replaces any of the counts, which are cumulative. */
  finish: (reason = 'end_turn', usage: object = {}, fields: object = {}): Step => {
    const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens } = plainUsage
    const counts = { input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens }
    return frame('message_delta', {
      delta: { stop_reason: reason, stop_sequence: null, stop_details: null, container: null, ...fields },
      usage: { ...counts, output_tokens_details: null, server_tool_use: null, ...usage },
    })
  },
  stop: frame('message_stop'),
  error: (type: string, text: string): Step => frame('error', { error: { type, message: text } }),
} as const

/** A successful response that consists of these steps. */
export function streamed(steps: readonly Step[]): Script {
  const headers = { 'content-type': 'text/event-stream; charset=utf-8', 'request-id': requestId() }
  return { headers, steps }
}

/** A successful stream of these blocks. `usage` replaces any of the counts. */
export function streamedMessage(
  blocks: readonly Block[],
  fields: { readonly model?: string; readonly stopReason?: string; readonly usage?: object } = {},
): Script {
  const { model = 'claude-upstream', stopReason, usage = {} } = fields
  const isCall = blocks.some(({ type }) => type === 'tool_use')
  const { start: begin, ping, finish, stop } = messageStream
  const counts = { ...plainUsage, ...usage, output_tokens: 1, output_tokens_details: null }
  return streamed([
    begin({ model, usage: counts }),
    ping,
    ...blocks.flatMap(stepsOf),
    finish(stopReason ?? (isCall ? 'tool_use' : 'end_turn'), usage),
    stop,
  ])
}

function stepsOf(block: Block, index: number): readonly Step[] {
  const halves = (text: string) => {
    const middle = Math.ceil(text.length / 2)
    return [text.slice(0, middle), text.slice(middle)].filter((half) => half !== '')
  }
  if (block.type === 'text') return messageStream.text(index, halves(String(block.text)))
  if (block.type === 'thinking')
    return messageStream.thinking(index, halves(String(block.thinking)), String(block.signature))
  if (block.type === 'redacted_thinking') return messageStream.redactedThinking(index, String(block.data))
  const { id, name, input } = block
  return messageStream.toolUse(index, String(id), String(name), halves(JSON.stringify(input)))
}
