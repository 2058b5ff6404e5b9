import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { findEmbeddingFault, findRequestFault } from '#standalone/demo-provider/internal/openai-request-check'
import type { Certificate } from './certificate.ts'
import { untilRead } from './socket-queues.ts'

/** One thing that a scripted provider does. Bytes and texts are written as they are. */
export type Step =
  | { readonly send: string | Buffer }
  /** One server-sent event; an object is written as JSON. */
  | { readonly event: object | string }
  /** One write per byte: every boundary inside a character and a frame. */
  | { readonly trickle: string }
  | { readonly waitMs: number }
  /** Waits for the test. */
  | { readonly until: Promise<unknown> }
  /** Waits until the gateway closes the connection. */
  | { readonly stall: true }
  /** Ends the connection in the middle of the answer: orderly (FIN), or not (RST). */
  | { readonly cut: 'fin' | 'reset' }

/** What a scripted provider answers to one request; the answer ends well after the last step. */
export type Script = {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Before the status line, in ms; `'forever'`: no status line at all. */
  readonly silentMs?: number | 'forever'
  /** Before the status line: until the test lets it go on. */
  readonly silentUntil?: Promise<unknown>
  /** Instead of HTTP: these bytes, then the end of the connection; '' cuts it before any answer. */
  readonly raw?: string
  readonly steps?: readonly Step[]
}

/** One request as the provider received it. Times are `performance.now()`. */
export type ReceivedRequest = {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly bodyText: string
  /** Empty where it was no JSON object. */
  readonly body: { readonly [field: string]: unknown }
  /** Of a request for the list of models: `/models`. */
  readonly model: string
  readonly receivedAtMs: number
  /** What its provider would have rejected it for; then the answer was that rejection, whatever the script. */
  readonly fault: string | undefined
  /** `left`: the gateway closed the connection before the script was through. */
  state: 'open' | 'answered' | 'cut' | 'left'
  endedAtMs: number | undefined
}

/** A script, or one made for the request that came (`attempt` counts from 0 per model). */
export type Answer = Script | ((request: ReceivedRequest, attempt: number) => Script)

/** The parts of a request that decide what it is for. */
export type RequestHead = Pick<ReceivedRequest, 'path' | 'headers' | 'body'> & { readonly method: string }

/** A provider's API: what a request is for, what it is rejected for, and what it gets unless a test sets something else. */
export type ProviderApi = {
  /** Of its address, after the host: `/v1`. */
  readonly basePath: string
  /** `/models`: the list of models. */
  readonly modelOf: (request: RequestHead) => string
  /** The provider's own rejection, and its words. */
  readonly faultOf: (
    request: RequestHead,
  ) => { readonly message: string; readonly answer: Script } | undefined
  readonly hello: (request: ReceivedRequest) => Script
}

export type Upstream = {
  /** Ends with the version, as a provider's base address does. */
  readonly url: string
  /** Every request so far, in order of arrival. */
  readonly requests: readonly ReceivedRequest[]
  /** Those for one of the provider's models. */
  requestsFor(model: string): readonly ReceivedRequest[]
  /** What to answer for a model: in this order, the last for all that follow. Without: `Hello`, as asked. */
  answer(model: string, ...answers: readonly [Answer, ...Answer[]]): void
  /** TCP connections that were made to it so far. */
  connectionCount(): number
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * A provider that does what a test defines, and records its requests. As strict as the original: OpenAI, unless another
 * `api` is given.
 */
export async function startUpstream(
  settings: { readonly port?: number; readonly certificate?: Certificate; readonly api?: ProviderApi } = {},
): Promise<Upstream> {
  const { api = openAi } = settings
  const requests: ReceivedRequest[] = []
  const answers = new Map<string, readonly Answer[]>()

  async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { received, rejection } = await receive(incoming, api)
    const { model } = received
    const attempt = requests.filter((request) => request.model === model).length
    requests.push(received)
    response.once('close', () => {
      if (received.state === 'open') received.state = response.writableFinished ? 'answered' : 'left'
      received.endedAtMs = performance.now()
    })
    const scripted = answers.get(model) ?? [api.hello]
    const chosen = scripted[Math.min(attempt, scripted.length - 1)] ?? api.hello
    const script = rejection ?? (typeof chosen === 'function' ? chosen(received, attempt) : chosen)
    await play(script, received, response)
  }

  const { certificate } = settings
  const listener = (incoming: IncomingMessage, response: ServerResponse) => {
    // A script that is cut short ends with an error; the journal has the reason.
    handle(incoming, response).catch(() => response.destroy())
  }
  const server = certificate === undefined ? createServer(listener) : createTlsServer(certificate, listener)
  let connectionCount = 0
  server.on('connection', () => {
    connectionCount += 1
  })
  server.keepAliveTimeout = 60_000
  server.listen(settings.port ?? 0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  async function stop(): Promise<void> {
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  }
  return {
    url: `${certificate === undefined ? 'http' : 'https'}://127.0.0.1:${port}${api.basePath}`,
    requests,
    requestsFor: (model) => requests.filter((request) => request.model === model),
    answer: (model, ...given) => void answers.set(model, given),
    connectionCount: () => connectionCount,
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

async function receive(
  incoming: IncomingMessage,
  api: ProviderApi,
): Promise<{ readonly received: ReceivedRequest; readonly rejection: Script | undefined }> {
  const receivedAtMs = performance.now()
  const parts: Buffer[] = []
  for await (const part of incoming) parts.push(part)
  const bodyText = Buffer.concat(parts).toString('utf8')
  const { headers, url: path = '', method = '' } = incoming
  const head = { path, headers, method, body: parseBody(bodyText) ?? {} }
  const fault = api.faultOf(head)
  const received: ReceivedRequest = {
    ...head,
    bodyText,
    model: api.modelOf(head),
    receivedAtMs,
    fault: fault?.message,
    state: 'open',
    endedAtMs: undefined,
  }
  return { received, rejection: fault?.answer }
}

function isForEmbeddings(path = ''): boolean {
  return path.split('?', 1)[0]?.endsWith('/embeddings') === true
}

function parseBody(text: string): ReceivedRequest['body'] | undefined {
  try {
    const body = JSON.parse(text)
    return typeof body === 'object' && body !== null ? body : undefined
  } catch {
    return undefined
  }
}

async function play(script: Script, received: ReceivedRequest, response: ServerResponse): Promise<void> {
  const left = new AbortController()
  response.once('close', () => left.abort())
  const { signal } = left
  if (script.silentMs === 'forever') return
  if (script.silentMs !== undefined) await sleep(script.silentMs, undefined, { signal })
  await script.silentUntil
  if (script.raw !== undefined) {
    received.state = 'cut'
    response.socket?.end(script.raw)
    return
  }
  response.writeHead(script.status ?? 200, { 'content-type': 'application/json', ...script.headers })
  response.flushHeaders()
  for (const step of script.steps ?? []) {
    if ('stall' in step) return
    if ('cut' in step) return await cut(step.cut, received, response)
    if ('waitMs' in step) await sleep(step.waitMs, undefined, { signal })
    else if ('until' in step) await step.until
    else for (const bytes of bytesOf(step)) await write(response, bytes, signal)
  }
  response.end()
}

async function cut(how: 'fin' | 'reset', received: ReceivedRequest, response: ServerResponse): Promise<void> {
  const { socket } = response
  if (how === 'reset' && socket !== null) await untilRead(socket)
  received.state = 'cut'
  if (how === 'reset') socket?.resetAndDestroy()
  else socket?.end()
}

function bytesOf(
  step: Extract<Step, { send: unknown } | { event: unknown } | { trickle: string }>,
): Buffer[] {
  if ('trickle' in step) return [...Buffer.from(step.trickle)].map((byte) => Buffer.of(byte))
  if ('send' in step) return [Buffer.from(step.send)]
  return [
    Buffer.from(`data: ${typeof step.event === 'string' ? step.event : JSON.stringify(step.event)}\n\n`),
  ]
}

async function write(response: ServerResponse, bytes: Buffer, signal: AbortSignal): Promise<void> {
  if (!response.write(bytes)) await once(response, 'drain', { signal })
}

const isList = ({ method, path }: RequestHead) => method === 'GET' && path.endsWith('/models')

/** OpenAI's API. */
export const openAi: ProviderApi = {
  basePath: '/v1',
  modelOf: (request) => (isList(request) ? '/models' : String(request.body.model)),
  faultOf(request) {
    if (isList(request)) return undefined
    const find = isForEmbeddings(request.path) ? findEmbeddingFault : findRequestFault
    const message = find(request.body)?.message
    return message === undefined ? undefined : { message, answer: refusal(400, message) }
  },
  hello({ model, body }) {
    if (model === '/models') return listed('some-model')
    return body.stream === true ? streamed(['Hel', 'lo']) : plain('Hello')
  },
}

/** A list of models as OpenAI gives it. */
export function listed(...models: readonly string[]): Script {
  const data = models.map((id) => ({ id, object: 'model', created: 1_700_000_000, owned_by: 'upstream' }))
  return { steps: [{ send: JSON.stringify({ object: 'list', data }) }] }
}

/** Usage of an answer, where a script does not say otherwise. */
const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }

/** A whole non-streaming response as OpenAI gives it. `fields` replaces any of its top-level fields. */
export function plain(content: string, fields: object = {}): Script {
  const message = { role: 'assistant', content, refusal: null }
  const choices = [{ index: 0, message, logprobs: null, finish_reason: 'stop' }]
  const head = {
    id: 'chatcmpl-upstream',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'upstream-model',
  }
  return { steps: [{ send: JSON.stringify({ ...head, choices, usage, ...fields }) }] }
}

/** An error as OpenAI gives it. */
export function refusal(status: number, message: string, fields: object = {}): Script {
  const error = { message, type: 'invalid_request_error', param: null, code: null, ...fields }
  return { status, steps: [{ send: JSON.stringify({ error }) }] }
}

/** One chunk as OpenAI gives it. */
function chunk(delta: object, choice: object = {}, fields: object = {}): object {
  return {
    id: 'chatcmpl-upstream',
    object: 'chat.completion.chunk',
    created: 1_700_000_000,
    model: 'upstream-model',
    choices: [{ index: 0, delta, logprobs: null, finish_reason: null, ...choice }],
    ...fields,
  }
}

/** The headers of a stream. */
export const streamHeaders = { 'content-type': 'text/event-stream; charset=utf-8' }

/** The steps of a good stream, to be taken apart by those who want a bad one. */
export const goodStream = {
  role: { event: chunk({ role: 'assistant', content: '', refusal: null }) },
  say: (content: string): Step => ({ event: chunk({ content }) }),
  /** Any delta, with fields of its choice next to it: `{ index: 1 }`. */
  delta: (delta: object, choice: object = {}): Step => ({ event: chunk(delta, choice) }),
  finish: (reason = 'stop'): Step => ({ event: chunk({}, { finish_reason: reason }) }),
  usage: (counts: object = usage): Step => ({ event: chunk({}, {}, { choices: [], usage: counts }) }),
  done: { event: '[DONE]' },
} as const

/** A successful stream with these chunks, and `between` between every two of them. */
export function streamed(
  pieces: readonly string[],
  options: { between?: Step; usage?: object | null } = {},
): Script {
  const said = pieces.flatMap((piece) => [
    goodStream.say(piece),
    ...(options.between ? [options.between] : []),
  ])
  const counted = options.usage === null ? [] : [goodStream.usage(options.usage)]
  return {
    headers: streamHeaders,
    steps: [goodStream.role, ...said, goodStream.finish(), ...counted, goodStream.done],
  }
}

/** A good answer of 10 and 5 tokens that stops, streamed after its first words, until the test lets it go on. */
export function pausedAnswer(): { readonly answer: Answer; readonly goOn: () => void } {
  let goOn = () => {}
  const until = new Promise<void>((resolve) => {
    goOn = resolve
  })
  const { role, say, finish, usage: count, done } = goodStream
  const said = [role, say('Some words that were delivered. '), { until }, say('And more.')]
  const answer: Answer = ({ body }) =>
    body.stream === true
      ? { headers: streamHeaders, steps: [...said, finish(), count(), done] }
      : { steps: [{ until }, ...(plain('Some words.').steps ?? [])] }
  return { answer, goOn: () => goOn() }
}
