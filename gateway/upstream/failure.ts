import type { Refusal } from '#core/errors/refusal'
import { invalidValue } from '../wire/errors.ts'
import { fieldsOf, findJson, itemsOf, type JsonObject } from '../wire/json-fields.ts'
import { findSaidKind } from './internal/failure-words.ts'
import { findProviderMessage, showableMessage, withoutSecrets } from './internal/provider-message.ts'

/** Failures between the gateway and a provider before its response was whole. */
export const transportFaults = [
  'connect_refused',
  'connect_timeout',
  'connect_failed',
  'dns_failed',
  /** Its address is one that this provider may not have; nothing was sent. */
  'address_refused',
  /** The egress proxy cannot be reached. */
  'proxy_unreachable',
  /** The egress proxy did not connect us to the provider. */
  'proxy_refused',
  'tls_failed',
  'first_byte_timeout',
  'idle_timeout',
  /** The connection broke before the first byte of an answer. */
  'reset',
  /** The connection broke, or the body ended too early, after the first byte. */
  'cut',
  'answer_too_large',
  'answer_encoded',
  'bad_http',
] as const

export type TransportFault = (typeof transportFaults)[number]

/**
 * The kind of failure, which decides the client's error when nothing else helps.
 *
 * `unreachable`, `failed`, `bad_answer`, `credential`, `misrouted`: 502. `timeout`: 504. `overloaded`: 503.
 * `bad_request`, `context_length`, `content_policy`: the request itself is the cause, 400.
 */
type FailureKind =
  | 'unreachable'
  | 'timeout'
  | 'overloaded'
  | 'failed'
  | 'bad_answer'
  | 'credential'
  | 'misrouted'
  | 'bad_request'
  | 'context_length'
  | 'content_policy'

/**
 * Where the same request may still succeed.
 *
 * `anywhere`: also here, in a moment. `other_backend`: not here, not now. `larger_context`: only at a model with
 * a larger context. `nowhere`: the request itself is rejected.
 */
type Recovery = 'anywhere' | 'other_backend' | 'larger_context' | 'nowhere'

export type Failure = {
  readonly kind: FailureKind
  /** A closed word for records and metrics: `status_500`, `first_byte_timeout`, `error_event`, … */
  readonly result: string
  readonly recovery: Recovery
  /** How long the provider asks us to wait, at most `retryAfterMsMax`. */
  readonly retryAfterMs: number | null
  /** The provider's own unchanged message, only if the request is the cause: not to be shown (`shownOf`). */
  readonly message: string | null
  /** The field of the request that the provider names, only of `bad_request`. */
  readonly param?: string
  /** Inputs for which the calls would have fit, only of `failureOfOwnLimit`. */
  readonly inputsMax?: number
}

/**
 * The part of a failure that a client may read: the provider's message without addresses and secrets, and the
 * field that it names.
 *
 * @param secrets the credential of that provider, in every form that it has.
 */
export function shownOf(
  { message, param }: Failure,
  secrets: readonly string[],
): { readonly words: string | null; readonly param: string | null } {
  const isShown = param !== undefined && !secrets.some((secret) => param.includes(secret))
  return {
    words: showableMessage(message === null ? undefined : withoutSecrets(message, secrets)),
    param: isShown ? param : null,
  }
}

/** Longest wait that we believe, in ms: a day. Longer hints are mistakes. */
const retryAfterMsMax = 86_400_000

type Headers = { readonly [name: string]: string | readonly string[] | undefined }

const timeouts: readonly TransportFault[] = ['connect_timeout', 'first_byte_timeout', 'idle_timeout']
const badAnswers: readonly TransportFault[] = ['answer_too_large', 'answer_encoded', 'bad_http']

/** The failure of a call that was under way when the request's own time was up. */
export const failureOfDeadline: Failure = failure('timeout', 'deadline', 'anywhere')

/** Whether a provider stayed silent for all of its time. A status like 504 is no silence: it may be one bad moment. */
export function wasSilent({ kind, result }: Failure): boolean {
  return kind === 'timeout' && (result === 'deadline' || timeouts.some((fault) => fault === result))
}

/**
 * The failure of an attempt that needs more calls in its time than the provider's limit lets us make: nothing was sent.
 *
 * @param retryAfterMs `null`: it will not fit at any other time, either.
 */
export function failureOfOwnLimit(inputsMax: number, retryAfterMs: number | null): Failure {
  return { ...failure('overloaded', ownLimitResult, 'other_backend'), retryAfterMs, inputsMax }
}

const ownLimitResult = 'rate_limited'

/**
 * The failure of a request that a provider's API cannot express: nothing was sent. Another provider may.
 *
 * @param param path of the field, as OpenAI writes it: `messages[1].content[0]`. `problem` continues that sentence.
 */
export function failureOfRequest(param: string, problem: string): Failure {
  return failureOfRefusal(invalidValue(param, problem))
}

/** The failure of a request that was not sent, for its own fault (400) or for want of memory. */
export function failureOfRefusal({ status, message, param }: Refusal): Failure {
  if (status !== 400) return { ...failure('overloaded', notExpressible, 'nowhere'), retryAfterMs: 1000 }
  const own = failure('bad_request', notExpressible, 'other_backend')
  return { ...own, message, ...(param === null ? {} : { param }) }
}

const notExpressible = 'not_expressible'

/** Whether a provider was called before this failure. */
export function wasCalled({ result }: Failure): boolean {
  return result !== ownLimitResult && result !== notExpressible
}

/** The failure of a call that never became a whole HTTP answer. */
export function failureOfFault(fault: TransportFault): Failure {
  if (timeouts.includes(fault)) return failure('timeout', fault, 'anywhere')
  if (badAnswers.includes(fault)) return failure('bad_answer', fault, 'other_backend')
  if (fault === 'address_refused') return failure('misrouted', fault, 'other_backend')
  return failure('unreachable', fault, 'anywhere')
}

/** The failure that an answer with a status other than 2xx is. `body` may be anything, HTML too; `nowMs` dates `Retry-After`. */
export function failureOfStatus(answer: {
  readonly status: number
  readonly headers: Headers
  readonly body: string
  readonly nowMs: number
}): Failure {
  const body = unwrap(findJson(answer.body))
  const said = classify(answer.status, `status_${answer.status}`, body)
  return { ...said, retryAfterMs: findRetryAfterMs(answer.headers, answer.nowMs) ?? said.retryAfterMs }
}

/** Whether what came with status 200 is an error: an event of a stream, or a whole body. Some leave the wrapping `error` out. */
export function isErrorBody(body: unknown): boolean {
  const given = unwrap(body)
  if (given?.error) return true
  if (given === undefined || given.choices !== undefined) return false
  return given.object === 'error' || (typeof given.message === 'string' && given.code !== undefined)
}

/** The failure that such an error means. */
export function failureOfErrorBody(body: unknown, result: 'error_event' | 'error_in_answer'): Failure {
  const given = unwrap(body)
  return classify(findStatusOf(fieldsOf(given?.error) ?? given), result, given)
}

/** The failure of an unusable answer: malformed, empty, incomplete. */
export function failureOfBadAnswer(result: string): Failure {
  return failure('bad_answer', result, 'anywhere')
}

/** Google sends its errors as a list of one. */
function unwrap(body: unknown): JsonObject | undefined {
  return fieldsOf(Array.isArray(body) && body.length === 1 ? body[0] : body)
}

/** Statuses that providers also use for more specific failures; `undefined`: an error without a status. */
const vagueStatuses: readonly (number | undefined)[] = [undefined, 400, 403, 413, 422]

const recoveryOfSaid = {
  credential: 'other_backend',
  overloaded: 'other_backend',
  context_length: 'larger_context',
  content_policy: 'nowhere',
} as const

/** The failure that a status and a body mean, with the wait that the body asks for. */
function classify(status: number | undefined, result: string, body: JsonObject | undefined): Failure {
  return { ...classifyKind(status, result, body), retryAfterMs: findRetryDelayMs(body) }
}

function classifyKind(status: number | undefined, result: string, body: JsonObject | undefined): Failure {
  const message = findProviderMessage(body)
  const said = vagueStatuses.includes(status) ? findSaidKind(codesOf(body), message ?? '') : undefined
  if (said === 'credential' || said === 'overloaded') return failure(said, result, recoveryOfSaid[said])
  if (said !== undefined) return { ...failure(said, result, recoveryOfSaid[said]), message: message ?? null }
  if (status === undefined) return failure('failed', result, 'anywhere')
  if (status === 400 || status === 413 || status === 422)
    return {
      ...failure('bad_request', result, 'nowhere'),
      message: message ?? null,
      ...namedIn(body),
    }
  if (status === 401 || status === 402 || status === 403)
    return failure('credential', result, 'other_backend')
  if (status === 408 || status === 504) return failure('timeout', result, 'anywhere')
  if (status === 429 || status === 503 || status === 529)
    return failure('overloaded', result, 'other_backend')
  if (status >= 500) return failure('failed', result, 'anywhere')
  // 404 and other 4xx, and redirects: the route names a model or an address that this provider does not have.
  return failure('misrouted', result, 'other_backend')
}

function failure(kind: FailureKind, result: string, recovery: Recovery): Failure {
  return { kind, result, recovery, retryAfterMs: null, message: null }
}

/** A field's path as OpenAI writes it: `tools[0].function.name`, `messages.[1].role`. */
const fieldPath = /^[A-Za-z_][\w.[\]]{0,127}$/

function namedIn(body: JsonObject | undefined): { readonly param?: string } {
  const param = fieldsOf(body?.error)?.param
  const isName = typeof param === 'string' && fieldPath.test(param) && showableMessage(param) === param
  return isName ? { param } : {}
}

const statusWords: readonly (readonly [pattern: RegExp, status: number])[] = [
  [/rate_limit|overloaded|too_many|resource_exhausted|unavailable/i, 429],
  [/invalid_request|bad_request|invalid_argument/i, 400],
  // Anthropic's
  [/permission_error/i, 403],
  [/not_found_error/i, 404],
  [/request_too_large/i, 413],
  [/timeout_error/i, 504],
]

/** The status that an in-band error stands for. Providers put it into `code` or `status`, or say it in words, or not. */
function findStatusOf(error: JsonObject | undefined): number | undefined {
  for (const given of [error?.code, error?.status, error?.status_code]) {
    const status = Number(given)
    if (Number.isInteger(status) && status >= 400 && status <= 599) return status
  }
  const words = `${error?.type ?? ''} ${error?.code ?? ''} ${error?.status ?? ''}`
  return statusWords.find(([pattern]) => pattern.test(words))?.[1]
}

function codesOf(body: JsonObject | undefined): readonly string[] {
  const error = fieldsOf(body?.error)
  const inner = fieldsOf(error?.innererror)
  const reasons = itemsOf(error?.details).map((detail) => fieldsOf(detail)?.reason)
  const codes = [body?.code, body?.type, error?.code, error?.type, inner?.code, ...reasons]
  return codes.filter((code) => typeof code === 'string')
}

function findRetryAfterMs(headers: Headers, nowMs: number): number | null {
  const inMs = Number(textOf(headers['retry-after-ms']) || Number.NaN)
  const hint = textOf(headers['retry-after'])
  const inSeconds = Number(hint || Number.NaN)
  const at = Date.parse(hint)
  return firstWaitMs([inMs, inSeconds * 1000, at - nowMs])
}

/** The wait in Google's `RetryInfo`: `34s`, `1.5s` (google/rpc/error_details.proto). */
function findRetryDelayMs(body: JsonObject | undefined): number | null {
  const details = itemsOf(fieldsOf(body?.error)?.details)
  const delays = details.map((detail) =>
    /^(\d{1,9}(?:\.\d{1,9})?)s$/.exec(String(fieldsOf(detail)?.retryDelay)),
  )
  return firstWaitMs(delays.map((delay) => Number(delay?.[1] ?? Number.NaN) * 1000))
}

function firstWaitMs(waitsMs: readonly number[]): number | null {
  const waitMs = waitsMs.find(Number.isFinite)
  return waitMs === undefined ? null : Math.min(Math.max(Math.ceil(waitMs), 0), retryAfterMsMax)
}

function textOf(header: string | readonly string[] | undefined): string {
  return (typeof header === 'string' ? header : (header?.[0] ?? '')).trim()
}
