import type { SampleRequest } from '../../kit/sample-code.ts'
import { dataOfEvents } from './event-stream-reader.ts'

export type ChatRequest = Extract<SampleRequest, { readonly path: '/chat/completions' }>['body']

/** The cost of an answer, from its last chunk. */
export type Bill = {
  readonly promptTokens: number
  readonly completionTokens: number
  readonly costRub: string
}

/** Why there is no complete answer. `network`: nothing arrived; `unreadable`: the response was not the gateway's. */
export type GatewayFailure = {
  readonly code: string
  /** In English, as sent to API clients. */
  readonly message: string
  readonly requestId: string | undefined
  readonly limit: number | string | undefined
  readonly used: number | string | undefined
  readonly held: number | string | undefined
  readonly needed: number | string | undefined
  readonly resetsAt: string | undefined
  readonly retryAfterS: number | undefined
}

export type ChatEvent =
  /** From here on there is a receipt. */
  | { readonly kind: 'accepted'; readonly requestId: string | undefined }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'billed'; readonly bill: Bill }
  | { readonly kind: 'failed'; readonly failure: GatewayFailure }

/** Asks a model and yields what arrives; a failure comes last. @throws AbortError when `signal` aborts */
export async function* streamChat(call: {
  readonly baseUrl: string
  readonly secret: string
  readonly request: ChatRequest
  readonly signal: AbortSignal
}): AsyncGenerator<ChatEvent> {
  let requestId: string | undefined
  try {
    const response = await send(call)
    requestId = response.headers.get('x-gateway-request-id') ?? undefined
    if (!response.ok || response.body === null)
      return yield { kind: 'failed', failure: await failureOf(response, requestId) }
    yield { kind: 'accepted', requestId }
    for await (const data of dataOfEvents(response.body)) yield* eventsOf(JSON.parse(data), requestId)
  } catch (error) {
    if (call.signal.aborted) throw error
    yield { kind: 'failed', failure: failureOfError({ code: 'network' }, requestId) }
  }
}

function send({ baseUrl, secret, request, signal }: Parameters<typeof streamChat>[0]): Promise<Response> {
  return fetch(`${baseUrl}/chat/completions`, {
    method: 'POST',
    credentials: 'omit',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify(request),
    signal,
  })
}

type Chunk = {
  readonly error?: ErrorBody
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null } }[]
  readonly usage?: {
    readonly prompt_tokens: number
    readonly completion_tokens: number
    readonly cost_rub: string
  } | null
}

function* eventsOf(chunk: Chunk, requestId: string | undefined): Generator<ChatEvent> {
  if (chunk.error !== undefined) yield { kind: 'failed', failure: failureOfError(chunk.error, requestId) }
  const text = chunk.choices?.[0]?.delta?.content ?? ''
  if (text !== '') yield { kind: 'text', text }
  if (chunk.usage == null) return
  const { prompt_tokens: promptTokens, completion_tokens: completionTokens, cost_rub: costRub } = chunk.usage
  yield { kind: 'billed', bill: { promptTokens, completionTokens, costRub } }
}

type ErrorBody = {
  readonly code?: string
  readonly message?: string
  readonly limit?: number | string
  readonly used?: number | string
  readonly held?: number | string
  readonly needed?: number | string
  readonly resets_at?: string
}

async function failureOf(response: Response, requestId: string | undefined): Promise<GatewayFailure> {
  const body: { readonly error?: ErrorBody } = await response.json().catch(() => ({}))
  const retryAfterS = Number(response.headers.get('retry-after')) || undefined
  return { ...failureOfError(body.error ?? { code: 'unreadable' }, requestId), retryAfterS }
}

function failureOfError(error: ErrorBody, requestId: string | undefined): GatewayFailure {
  const { code = 'unreadable', message = '', limit, used, held, needed, resets_at: resetsAt } = error
  return { code, message, limit, used, held, needed, resetsAt, requestId, retryAfterS: undefined }
}
