import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'

/** The provider of the benchmark: as little work as possible, so that the time measured is spent before it. */
const text = 'x'.repeat(640)
const usage = { prompt_tokens: 180, completion_tokens: 160, total_tokens: 340 }
const openAiHead = { id: 'chatcmpl-bench', created: 1, model: 'bench' }

/** Tokens of the two kinds of stream: one every 20 ms, for 10 s as a long answer has it, and as fast as they are read. */
export const slowTokens = 500
export const fastTokens = 2000

/** What a provider of one API answers; a stream has a first part, one event for each token, and a last part. */
type Answers = {
  readonly plain: string
  readonly first: string
  /** Of the n-th token. */
  readonly token: (n: number) => string
  readonly last: string
}

const openAi: Answers = openAiAnswers()
function openAiAnswers(): Answers {
  const head = { ...openAiHead, object: 'chat.completion.chunk' }
  const chunk = (delta: object, finish: string | null) =>
    event({ ...head, choices: [{ index: 0, delta, finish_reason: finish }] })
  const message = { role: 'assistant', content: text, refusal: null }
  const choices = [{ index: 0, message, logprobs: null, finish_reason: 'stop' }]
  const token = chunk({ content: ' token' }, null)
  return {
    plain: JSON.stringify({ ...openAiHead, object: 'chat.completion', choices, usage }),
    first: chunk({ role: 'assistant', content: '' }, null),
    token: () => token,
    last: `${chunk({}, 'stop')}${event({ ...head, choices: [], usage })}data: [DONE]\n\n`,
  }
}

const anthropic: Answers = anthropicAnswers()
function anthropicAnswers(): Answers {
  const usage = {
    input_tokens: 180,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 160,
    service_tier: 'standard',
  }
  const head = { id: 'msg_bench', type: 'message', role: 'assistant', model: 'bench', stop_sequence: null }
  const named = (type: string, fields: object = {}) => `event: ${type}\n${event({ type, ...fields })}`
  const message = { ...head, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } }
  const delta = { type: 'text_delta', text: ' token' }
  const token = named('content_block_delta', { index: 0, delta })
  const block = { type: 'text', text: '' }
  return {
    plain: JSON.stringify({ ...head, content: [{ type: 'text', text }], stop_reason: 'end_turn', usage }),
    first: `${named('message_start', { message })}${named('content_block_start', { index: 0, content_block: block })}${named('ping')}`,
    token: () => token,
    last: `${named('content_block_stop', { index: 0 })}${named('message_delta', {
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage,
    })}${named('message_stop')}`,
  }
}

const responses: Answers = responsesAnswers()
function responsesAnswers(): Answers {
  const id = 'msg_bench'
  const part = (said: string) => ({ type: 'output_text', annotations: [], logprobs: [], text: said })
  const item = (status: string, content: readonly object[]) => ({
    id,
    type: 'message',
    status,
    content,
    role: 'assistant',
  })
  const place = { item_id: id, output_index: 0, content_index: 0 }
  const numbered = (number: number, type: string, fields: object) =>
    `event: ${type}\n${event({ type, ...fields, sequence_number: number })}`
  const token = (n: number) =>
    numbered(n + 4, 'response.output_text.delta', { ...place, delta: ' token', logprobs: [] })
  const tokens = Array.from({ length: fastTokens }, (_, n) => token(n))
  const text500 = ' token'.repeat(slowTokens)
  const begun = ownResponse('in_progress', [])
  const whole = item('completed', [part(text500)])
  const itemDone = { output_index: 0, item: whole }
  const last = [
    ['response.output_text.done', { ...place, text: text500, logprobs: [] }],
    ['response.content_part.done', { ...place, part: part(text500) }],
    ['response.output_item.done', itemDone],
    ['response.completed', { response: ownResponse('completed', [whole]) }],
  ] as const
  return {
    plain: JSON.stringify(ownResponse('completed', [item('completed', [part(text)])])),
    first: [
      numbered(0, 'response.created', { response: begun }),
      numbered(1, 'response.in_progress', { response: begun }),
      numbered(2, 'response.output_item.added', { output_index: 0, item: item('in_progress', []) }),
      numbered(3, 'response.content_part.added', { ...place, part: part('') }),
    ].join(''),
    token: (n) => tokens[n] ?? token(n),
    last: last.map(([type, fields], n) => numbered(slowTokens + 4 + n, type, fields)).join(''),
  }
}

/** A response of OpenAI's. */
function ownResponse(status: string, output: readonly object[]): object {
  const counted = {
    input_tokens: 180,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 160,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 340,
  }
  return {
    id: 'resp_bench',
    object: 'response',
    created_at: 1,
    status,
    background: false,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: 200,
    max_tool_calls: null,
    model: 'bench',
    output,
    parallel_tool_calls: true,
    previous_response_id: null,
    prompt_cache_key: null,
    reasoning: { effort: null, summary: null },
    safety_identifier: null,
    service_tier: 'default',
    store: false,
    temperature: 1,
    text: { format: { type: 'text' }, verbosity: 'medium' },
    tool_choice: 'auto',
    tools: [],
    top_logprobs: 0,
    top_p: 1,
    truncation: 'disabled',
    usage: status === 'completed' ? counted : null,
    user: null,
    metadata: {},
  }
}

const gemini: Answers = geminiAnswers()
function geminiAnswers(): Answers {
  const head = { modelVersion: 'bench', responseId: 'bench' }
  const counts = (candidatesTokenCount: number) => ({
    promptTokenCount: 180,
    candidatesTokenCount,
    totalTokenCount: 180 + candidatesTokenCount,
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: 180 }],
  })
  const answer = (said: string, count: number, finish: object) => ({
    candidates: [{ content: { parts: [{ text: said }], role: 'model' }, ...finish, index: 0 }],
    usageMetadata: counts(count),
    ...head,
  })
  const chunk = (said: string, count: number, finish: object = {}) =>
    `data: ${JSON.stringify(answer(said, count, finish))}\r\n\r\n`
  const tokens = Array.from({ length: fastTokens }, (_, n) => chunk(' token', n + 1))
  return {
    plain: JSON.stringify(answer(text, 160, { finishReason: 'STOP' })),
    first: '',
    token: (n) => tokens[n] ?? chunk(' token', n + 1),
    last: chunk('', 160, { finishReason: 'STOP' }),
  }
}

function event(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`
}

function answersOf(url: string): Answers {
  if (url.includes('/models/')) return gemini
  if (url.endsWith('/responses')) return responses
  return url.endsWith('/messages') ? anthropic : openAi
}

const slowTokenMs = 20

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = ''
  for await (const bytes of request) body += bytes
  const { url = '' } = request
  const answers = answersOf(url)
  if (body.includes('"stream":true') || url.includes(':stream'))
    return `${url} ${body}`.includes('bench-slow')
      ? streamSlowly(response, answers)
      : streamFast(response, answers)
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(answers.plain),
  })
  response.end(answers.plain)
}

async function streamFast(response: ServerResponse, { first, token, last }: Answers): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  if (first !== '') response.write(first)
  for (let n = 0; n < fastTokens; n++)
    if (!response.write(token(n))) await new Promise((resolve) => response.once('drain', resolve))
  response.end(last)
}

/**
 * Those who have their next token in each of the 20 ms to come, by the millisecond.
 *
 * A timer for each stream would cost more than the tokens; and timers of one length fall into step after a while, so that
 * all tokens come at once, as they never do from providers.
 */
const due = Array.from({ length: slowTokenMs }, () => new Set<() => void>())
let openCount = 0
let saidThroughMs = 0

function startClock(): void {
  saidThroughMs = Math.floor(performance.now())
  const clock = setInterval(() => {
    for (const nowMs = Math.floor(performance.now()); saidThroughMs < nowMs; ) {
      saidThroughMs += 1
      for (const say of due[saidThroughMs % slowTokenMs] ?? []) say()
    }
    if (openCount === 0) clearInterval(clock) // it would keep a processor awake for others who measure
  }, 1)
}

function streamSlowly(response: ServerResponse, { first, token, last }: Answers): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  if (first !== '') response.write(first)
  response.write(token(0))
  openCount += 1
  if (openCount === 1) startClock()
  const mine = due[saidThroughMs % slowTokenMs]
  let left = slowTokens - 1
  const say = () => {
    const event = token(slowTokens - left)
    response.socket?.write(`${event.length.toString(16)}\r\n${event}\r\n`, 'latin1') // past `ServerResponse`, which would take twice as long
    left -= 1
    if (left > 0) return
    mine?.delete(say)
    response.end(last)
  }
  mine?.add(say)
  response.once('close', () => {
    mine?.delete(say)
    openCount -= 1
  })
}

if (import.meta.main) {
  const server = createServer((request, response) => void answer(request, response))
  server.keepAliveTimeout = 600_000
  server.listen(0, '127.0.0.1', () => {
    process.stdout.write(`${JSON.stringify({ msg: 'started', ...Object(server.address()), adminPort: 0 })}\n`)
  })
}
