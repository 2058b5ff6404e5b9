import type { IncomingMessage, ServerResponse } from 'node:http'
import type { LimitState, RateLimits } from '#core/admission/admission-reply'
import { errorBody, type Refusal, withDocUrl } from '#core/errors/refusal'
import { formatRub, nanoRub } from '#core/ledger/money'

/** The facts in the headers of a response. Values not known yet, or not applicable, are absent. */
export type AnswerFacts = {
  readonly requestId: string
  readonly limits?: RateLimits
  /** The route and provider that ran. */
  readonly model?: string
  readonly attempts?: number
  readonly droppedParameters?: readonly string[]
  /** Output tokens of one answer, where the gateway set that. */
  readonly outputLimit?: number
  /** Milliseconds of the request spent in the gateway itself. */
  readonly overheadMs?: number
  /** Non-streaming responses only, errors too: a stream's cost is not known when its headers leave. */
  readonly costNano?: bigint
  /** Of a count of tokens: whether it is not the provider's. */
  readonly isEstimated?: boolean
}

/** Headers as Node takes them without looking each one up: name, value, name, value. No name is there twice. */
type HeaderList = string[]

/**
 * Every header of an answer: the one place that knows their names.
 *
 * `x-gateway-dropped-params`: names with commas, empty when nothing was dropped.
 * `x-ratelimit-reset-rpm|tpm`: whole seconds, rounded up. The aliases `…-requests|tokens` are OpenAI's, whose
 * reset is a span like `12ms`, `1s`, `6m0s`.
 */
export function answerHeaders(facts: AnswerFacts): HeaderList {
  const { requestId } = facts
  // The same by the names that the SDKs of OpenAI and Anthropic read.
  const list = ['x-gateway-request-id', requestId, 'x-request-id', requestId, 'request-id', requestId]
  if (facts.limits !== undefined) addLimits(list, facts.limits)
  addOutcome(list, facts)
  return list
}

/** How the API of a route writes rejections. */
export type RejectionFormat = {
  readonly writeError: (refusal: Refusal, requestId: string) => string
  /** A whole stream, for clients that accept nothing else; absent: they get `writeError`, too. */
  readonly writeErrorStream?: (refusal: Refusal, requestId: string) => string
}

const openAiRejections: RejectionFormat = { writeError: errorBody }

/** Answers with an error, in OpenAI's format unless another is given, or writes nothing if an answer has begun. */
export function sendRefusal(
  raw: ServerResponse,
  refusal: Refusal,
  facts: AnswerFacts,
  format: RejectionFormat = openAiRejections,
): void {
  const told = documented(raw, refusal)
  const { status, headers: own, type, body } = writeRejection(raw.req, told, facts.requestId, format)
  const headers = headersFor(raw, facts)
  for (const [name, value] of Object.entries(own)) headers.push(name, value)
  sendWhole(raw, status, { type, body }, headers)
}

/** Public address of the cabinet, whose documentation explains errors, by response. */
const documentations = new WeakMap<ServerResponse, string>()

/** Errors of this response have `doc_url` from now on, an address within the cabinet at `cabinetUrl`, if there is one. */
export function documentErrors(raw: ServerResponse, cabinetUrl: string | undefined): void {
  if (cabinetUrl !== undefined) documentations.set(raw, cabinetUrl)
}

/** A rejection as this response writes it. */
export function documented(raw: ServerResponse, refusal: Refusal): Refusal {
  return withDocUrl(refusal, documentations.get(raw))
}

type WrittenRejection = Body & {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
}

/**
 * A rejection as its client reads it: clients that accept streams only get one of status 200, where their API has that.
 * They would repeat a request for nearly any other status. A wrong key is always 401.
 */
export function writeRejection(
  request: IncomingMessage | undefined,
  refusal: Refusal,
  requestId: string,
  { writeError, writeErrorStream }: RejectionFormat = openAiRejections,
): WrittenRejection {
  if (writeErrorStream !== undefined && refusal.status !== 401 && acceptsStream(request))
    return {
      status: 200,
      headers: streamCaching,
      type: streamType,
      body: writeErrorStream(refusal, requestId),
    }
  const { status, headers } = refusal
  return { status, headers, type: jsonType, body: writeError(refusal, requestId) }
}

function acceptsStream(request: IncomingMessage | undefined): boolean {
  return request?.headers.accept?.includes('text/event-stream') === true
}

/** Answers 200 with a whole JSON body. */
export function sendPlain(raw: ServerResponse, json: string, facts: AnswerFacts): void {
  sendWhole(raw, 200, { type: jsonType, body: json }, headersFor(raw, facts))
}

/** Answers 200 without a body. */
export function sendEmpty(raw: ServerResponse, facts: AnswerFacts): void {
  raw.writeHead(200, headersFor(raw, facts))
  raw.end()
}

/** Forwards the complete response of another process of this system. */
export function sendForwarded(
  raw: ServerResponse,
  answer: {
    readonly status: number
    readonly json: string
    readonly headers: Readonly<Record<string, string>>
  },
  facts: AnswerFacts,
): void {
  const headers = headersFor(raw, facts)
  for (const [name, value] of Object.entries(answer.headers)) headers.push(name, value)
  sendWhole(raw, answer.status, { type: jsonType, body: answer.json }, headers)
}

/** Sends the headers of an event stream at once; the caller writes the events and ends it. */
export function beginStream(raw: ServerResponse, facts: AnswerFacts): void {
  const headers = headersFor(raw, facts)
  headers.push('content-type', streamType)
  for (const [name, value] of Object.entries(streamCaching)) headers.push(name, value)
  headers.push('x-accel-buffering', 'no') // nginx would collect events
  raw.writeHead(200, headers)
}

const jsonType = 'application/json'
const streamType = 'text/event-stream; charset=utf-8'
const streamCaching = { 'cache-control': 'no-cache' } as const

/** Whether this is a CORS preflight. */
export function isPreflight({ method, headers }: IncomingMessage): boolean {
  return method === 'OPTIONS' && headers.origin !== undefined && 'access-control-request-method' in headers
}

/** Allows the preflighted request, with every header it named. */
export function sendPreflight(raw: ServerResponse, facts: AnswerFacts): void {
  const headers = headersFor(raw, facts)
  const asked = String(raw.req.headers['access-control-request-headers'] ?? '')
  if (headerNames.test(asked)) headers.push('access-control-allow-headers', asked)
  headers.push('access-control-allow-methods', 'GET, POST, DELETE', 'access-control-max-age', preflightAgeS)
  raw.writeHead(204, headers)
  raw.end()
}

/** A list of header names as it may be sent back; that of the official SDK has 200 characters. */
const headerNames = /^[\w!#$%&'*+.^`|~, -]{1,2048}$/
/** For how long browsers remember it: the longest that Chromium does. */
const preflightAgeS = '7200'

/** The headers of an answer to this request. */
function headersFor(raw: ServerResponse, facts: AnswerFacts): HeaderList {
  const headers = answerHeaders(facts)
  if (raw.req.headers.origin !== undefined) headers.push(...anyOrigin)
  return headers
}

/** Pages of any origin read answers whole: a key is sent by the page itself, never by its browser, as cookies are. */
export const anyOrigin = ['access-control-allow-origin', '*', 'access-control-expose-headers', '*'] as const

type Body = { readonly type: string; readonly body: string }

function sendWhole(raw: ServerResponse, status: number, { type, body }: Body, headers: HeaderList): void {
  if (raw.headersSent || raw.destroyed) return
  headers.push('content-type', type, 'content-length', String(Buffer.byteLength(body)))
  raw.writeHead(status, headers)
  raw.end(body) // as text, so that Node sends it in one piece with the headers
}

function addLimits(list: HeaderList, { rpm, tpm }: RateLimits): void {
  const [rpmLimit, rpmLeft, rpmReset, rpmSpan] = textsOf(rpm)
  list.push('x-ratelimit-limit-rpm', rpmLimit, 'x-ratelimit-limit-requests', rpmLimit)
  list.push('x-ratelimit-remaining-rpm', rpmLeft, 'x-ratelimit-remaining-requests', rpmLeft)
  list.push('x-ratelimit-reset-rpm', rpmReset, 'x-ratelimit-reset-requests', rpmSpan)
  const [tpmLimit, tpmLeft, tpmReset, tpmSpan] = textsOf(tpm)
  list.push('x-ratelimit-limit-tpm', tpmLimit, 'x-ratelimit-limit-tokens', tpmLimit)
  list.push('x-ratelimit-remaining-tpm', tpmLeft, 'x-ratelimit-remaining-tokens', tpmLeft)
  list.push('x-ratelimit-reset-tpm', tpmReset, 'x-ratelimit-reset-tokens', tpmSpan)
}

function textsOf({ limit, remaining, resetMs }: LimitState) {
  return [String(limit), String(remaining), String(Math.ceil(resetMs / 1000)), formatSpan(resetMs)] as const
}

function addOutcome(list: HeaderList, facts: AnswerFacts): void {
  if (facts.model !== undefined) list.push('x-gateway-model', headerText(facts.model))
  if (facts.attempts !== undefined) list.push('x-gateway-attempts', String(facts.attempts))
  if (facts.droppedParameters !== undefined)
    list.push('x-gateway-dropped-params', headerText(facts.droppedParameters.join(',')))
  if (facts.outputLimit !== undefined) list.push('x-gateway-output-limit', String(facts.outputLimit))
  if (facts.overheadMs !== undefined) list.push('x-gateway-overhead-ms', facts.overheadMs.toFixed(1))
  if (facts.isEstimated === true) list.push('x-gateway-estimated', 'true')
  if (facts.costNano !== undefined) list.push('x-gateway-cost-rub', formatRub(nanoRub(facts.costNano)))
}

/** Header values are visible ASCII: a field's name is the caller's text, and Node throws on anything else. */
function headerText(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?')
}

function formatSpan(ms: number): string {
  if (ms < 1000) return `${Math.ceil(ms)}ms`
  const seconds = Math.ceil(ms / 1000)
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`
}
