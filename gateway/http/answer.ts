import type { ServerResponse } from 'node:http'
import type { LimitState, RateLimits } from '#cabinet/admission'
import { formatRub, nanoRub } from '#cabinet/money'
import { errorBody, type Refusal } from '../errors.ts'

/** What the headers of an answer say. What is not known yet, or does not apply, is left out. */
export type AnswerFacts = {
  readonly requestId: string
  readonly limits?: RateLimits
  /** What ran. */
  readonly model?: string
  readonly attempts?: number
  readonly droppedParameters?: readonly string[]
  /** Milliseconds of the request spent in the gateway itself. */
  readonly overheadMs?: number
  /** Plain answers only: a stream's cost is not known when its headers leave. */
  readonly costNano?: bigint
}

/**
 * Every header of an answer: the one place that knows their names.
 *
 * `x-gateway-dropped-params`: names with commas, empty when nothing was dropped.
 * `x-ratelimit-reset-rpm|tpm`: whole seconds, rounded up. The aliases `…-requests|tokens` are OpenAI's, whose
 * reset is a span like `12ms`, `1s`, `6m0s`.
 */
export function answerHeaders(facts: AnswerFacts): Record<string, string> {
  const headers = { 'x-gateway-request-id': facts.requestId, 'x-request-id': facts.requestId }
  return { ...headers, ...limitHeaders(facts.limits), ...outcomeHeaders(facts) }
}

/** Answers with an error, unless an answer has begun; then nothing is written. */
export function sendRefusal(raw: ServerResponse, refusal: Refusal, facts: AnswerFacts): void {
  sendJson(raw, refusal.status, errorBody(refusal, facts.requestId), {
    ...answerHeaders(facts),
    ...refusal.headers,
  })
}

/** Answers 200 with a whole JSON body. */
export function sendPlain(raw: ServerResponse, json: string, facts: AnswerFacts): void {
  sendJson(raw, 200, json, answerHeaders(facts))
}

/** Passes on what another process of ours answered in full. */
export function sendForwarded(
  raw: ServerResponse,
  answer: {
    readonly status: number
    readonly json: string
    readonly headers: Readonly<Record<string, string>>
  },
  facts: AnswerFacts,
): void {
  sendJson(raw, answer.status, answer.json, { ...answerHeaders(facts), ...answer.headers })
}

/** Sends the headers of an event stream at once; the caller writes the events and ends it. */
export function beginStream(raw: ServerResponse, facts: AnswerFacts): void {
  raw.writeHead(200, {
    ...answerHeaders(facts),
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no', // nginx would collect events
  })
  raw.flushHeaders()
}

function sendJson(raw: ServerResponse, status: number, json: string, headers: Record<string, string>): void {
  if (raw.headersSent || raw.destroyed) return
  const body = Buffer.from(json)
  raw.writeHead(status, { ...headers, 'content-type': 'application/json', 'content-length': body.length })
  raw.end(body)
}

function limitHeaders(limits: RateLimits | undefined): Record<string, string> {
  if (limits === undefined) return {}
  return {
    ...oneLimit(limits.rpm, 'rpm', 'requests'),
    ...oneLimit(limits.tpm, 'tpm', 'tokens'),
  }
}

function oneLimit({ limit, remaining, resetMs }: LimitState, name: string, alias: string) {
  return {
    [`x-ratelimit-limit-${name}`]: String(limit),
    [`x-ratelimit-remaining-${name}`]: String(remaining),
    [`x-ratelimit-reset-${name}`]: String(Math.ceil(resetMs / 1000)),
    [`x-ratelimit-limit-${alias}`]: String(limit),
    [`x-ratelimit-remaining-${alias}`]: String(remaining),
    [`x-ratelimit-reset-${alias}`]: formatSpan(resetMs),
  }
}

function outcomeHeaders(facts: AnswerFacts): Record<string, string> {
  const headers: Record<string, string> = {}
  if (facts.model !== undefined) headers['x-gateway-model'] = headerText(facts.model)
  if (facts.attempts !== undefined) headers['x-gateway-attempts'] = String(facts.attempts)
  if (facts.droppedParameters !== undefined)
    headers['x-gateway-dropped-params'] = headerText(facts.droppedParameters.join(','))
  if (facts.overheadMs !== undefined) headers['x-gateway-overhead-ms'] = facts.overheadMs.toFixed(1)
  if (facts.costNano !== undefined) headers['x-gateway-cost-rub'] = formatRub(nanoRub(facts.costNano))
  return headers
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
