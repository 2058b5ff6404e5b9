import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { listeningPort } from '#core/process/listening-port'
import { answerEmbeddings, type DemoEmbeddingRequest } from './internal/demo-embeddings.ts'
import { findEmbeddingFault, findRequestFault } from './internal/openai-request-check.ts'

export type DemoProvider = {
  readonly port: number
  /** Its base URL, ending with `/v1`. */
  readonly url: string
  /** Accepts no new connections and finishes running responses. */
  drain(): Promise<void>
  /** Aborts running responses. */
  stop(): Promise<void>
}

/** Time per token of the model `slow`, in ms: 20 tokens a second. */
const slowTokenMs = 50
/** Tokens of `slow` if the request sets no limit: five seconds. */
const slowTokens = 100
/** Largest request in bytes: the gateway's 32 MiB, with some margin. */
const bodyBytesMax = 33 * 1024 * 1024

/** The supported part of a valid request. */
type DemoRequest = {
  readonly model: string
  readonly messages: readonly { readonly role: string; readonly content?: unknown }[]
  readonly stream?: boolean | null
  readonly stream_options?: { readonly include_usage?: boolean } | null
  readonly max_tokens?: number | null
  readonly max_completion_tokens?: number | null
  readonly n?: number | null
}

/** One response, repeated `choices` times. A token is a word with the space before it. */
type Speech = {
  readonly tokens: readonly string[]
  readonly finish: 'stop' | 'length'
  readonly tokenMs: number
  readonly choices: number
  readonly promptTokens: number
}

/**
 * A provider that costs nothing, needs no key, and strictly follows OpenAI's API format.
 *
 * Models: `echo` repeats the last user message, `slow` repeats it continuously at 20 tokens/s, `error` fails with 500,
 * and `embed` creates small embeddings.
 */
export async function startDemoProvider(settings: {
  readonly port: number
  /** Default 127.0.0.1. */
  readonly host?: string
}): Promise<DemoProvider> {
  const { host = '127.0.0.1' } = settings
  let isDraining = false
  const server = createServer((request, response) => {
    if (isDraining) response.setHeader('connection', 'close')
    handle(request, response).catch(() => response.destroy())
  })
  server.listen(settings.port, host)
  await once(server, 'listening')
  const port = listeningPort(server)
  return {
    port,
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}/v1`,
    async drain() {
      isDraining = true
      server.close()
      await once(server, 'close')
    },
    async stop() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const isForEmbeddings = request.url === '/v1/embeddings'
  if (request.method !== 'POST' || !(isForEmbeddings || request.url === '/v1/chat/completions'))
    return refuse(response, 404, `Invalid URL (${request.method} ${request.url})`, 'invalid_request_error')
  const text = await readBody(request)
  if (text === undefined) return refuse(response, 413, 'Request too large', 'invalid_request_error')
  const body = parse(text)
  const fault = isForEmbeddings ? findEmbeddingFault(body) : findRequestFault(body)
  if (fault !== undefined) return refuse(response, 400, fault.message, 'invalid_request_error', fault.param)
  if (isForEmbeddings) return embed(response, body as DemoEmbeddingRequest)
  const chat = body as DemoRequest
  if (chat.model === 'error')
    return refuse(response, 500, 'The demo provider fails on purpose.', 'server_error')
  if (chat.model !== 'echo' && chat.model !== 'slow') return refuseModel(response, chat.model)
  if (chat.stream === true) await stream(response, chat, speechFor(chat))
  else await answer(response, chat, speechFor(chat))
}

function embed(response: ServerResponse, request: DemoEmbeddingRequest): void {
  const answer = answerEmbeddings(request)
  if (request.model !== 'embed') refuseModel(response, request.model)
  else if (answer === undefined)
    refuse(response, 400, "Invalid value for 'dimensions'.", 'invalid_request_error', 'dimensions')
  else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
}

function speechFor(chat: DemoRequest): Speech {
  const last = chat.messages.findLast(({ role }) => role === 'user')
  const words = tokensOf(textOf(last?.content))
  const limit = chat.max_completion_tokens ?? chat.max_tokens ?? undefined
  const isSlow = chat.model === 'slow' && words.length > 0
  const wanted = isSlow ? Math.max(limit ?? slowTokens, words.length) : words.length
  const said = Math.min(wanted, limit ?? wanted)
  return {
    tokens: Array.from({ length: said }, (_, n) => words[n % words.length] ?? ''),
    finish: said < wanted ? 'length' : 'stop',
    tokenMs: isSlow ? slowTokenMs : 0,
    choices: chat.n ?? 1,
    promptTokens: chat.messages.reduce((sum, { content }) => sum + tokensOf(textOf(content)).length, 0),
  }
}

async function answer(response: ServerResponse, chat: DemoRequest, speech: Speech): Promise<void> {
  if (speech.tokenMs > 0) await sleep(speech.tokenMs * speech.tokens.length)
  const message = { role: 'assistant', content: speech.tokens.join(''), refusal: null }
  const choices = Array.from({ length: speech.choices }, (_, index) => ({
    index,
    message,
    logprobs: null,
    finish_reason: speech.finish,
  }))
  const body = { ...headOf(chat), object: 'chat.completion', choices, usage: usageOf(speech) }
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}

async function stream(response: ServerResponse, chat: DemoRequest, speech: Speech): Promise<void> {
  const asked = chat.stream_options?.include_usage === true
  const head = { ...headOf(chat), object: 'chat.completion.chunk' }
  const closed = new AbortController()
  response.once('close', () => closed.abort())
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })

  async function send(delta: object, finishReason: string | null = null): Promise<void> {
    for (let index = 0; index < speech.choices; index += 1) {
      const choices = [{ index, delta, logprobs: null, finish_reason: finishReason }]
      const chunk = { ...head, choices, ...(asked ? { usage: null } : {}) }
      if (!response.write(`data: ${JSON.stringify(chunk)}\n\n`))
        await once(response, 'drain', { signal: closed.signal })
    }
  }

  await send({ role: 'assistant', content: '', refusal: null })
  for (const content of speech.tokens) {
    if (speech.tokenMs > 0) await sleep(speech.tokenMs, undefined, { signal: closed.signal })
    await send({ content })
  }
  await send({}, speech.finish)
  if (asked) response.write(`data: ${JSON.stringify({ ...head, choices: [], usage: usageOf(speech) })}\n\n`)
  response.end('data: [DONE]\n\n')
}

function headOf({ model }: DemoRequest) {
  return { id: `chatcmpl-${crypto.randomUUID()}`, created: Math.floor(Date.now() / 1000), model }
}

function usageOf({ promptTokens, tokens, choices }: Speech) {
  const completionTokens = tokens.length * choices
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  }
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  return Array.isArray(content) ? content.map((part) => part.text ?? '').join('') : ''
}

function tokensOf(text: string): readonly string[] {
  return text.match(/\s*\S+/g) ?? []
}

async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const parts: Buffer[] = []
  let length = 0
  for await (const part of request) {
    length += part.length
    if (length > bodyBytesMax) return undefined
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function refuseModel(response: ServerResponse, model: string): void {
  const message = `The model '${model}' does not exist.`
  refuse(response, 404, message, 'invalid_request_error', null, 'model_not_found')
}

function refuse(
  response: ServerResponse,
  status: number,
  message: string,
  type: string,
  param: string | null = null,
  code: string | null = null,
): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ error: { message, type, param, code } }))
}
