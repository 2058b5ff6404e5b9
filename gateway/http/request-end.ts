import type { FastifyRequest } from 'fastify'
import type { KeyOwner } from '#core/admission/admission-reply'
import type { Refusal } from '#core/errors/refusal'
import { formatRub, nanoRub } from '#core/ledger/money'
import type { RequestRecord } from '#core/ledger/request-record'
import type { Log } from '#core/process/log'
import { countRecord, type GatewayMetrics } from '../metrics/metrics.ts'
import type { Refused } from './key-first.ts'

/** The facts of one answered request in the log line and the metrics. */
export type ExchangeReport = {
  readonly status: number
  /** Closed words: a record's outcome, or `refused` when nothing was admitted. */
  readonly outcome: string
  readonly code: string | null
  readonly organizationId: string | null
  readonly keyId: string | null
  readonly modelRan: string | null
  readonly attempts: number
  readonly costNano: bigint | null
  /** The record of an admitted request: for the metrics of attempts, tokens and first content. */
  readonly record?: RequestRecord
  /** Milliseconds from the call of a provider to the first content of its stream. */
  readonly firstChunkMs?: number | undefined
  /** Milliseconds that were not spent waiting for providers. */
  readonly overheadMs?: number
}

/** The facts recorded of every request once it is over. */
export type RequestEnd = ExchangeReport & {
  readonly stream: 'yes' | 'no' | 'unknown'
  readonly modelAsked: string | null
  /** The error of a known key that its organization's list in Redis does not have yet. */
  readonly unlisted?: Refusal
}

/** The fields of a request's log line: no body, no header, no key but its id. */
export type RequestLine = ReturnType<typeof lineOf>

/** Writes the line of one request, at `info`. */
export type WriteRequestLine = (line: RequestLine) => void

export type NoteEnd = (request: FastifyRequest, end: RequestEnd) => void

/**
 * Counts every request once and writes its one log line.
 *
 * Requests that need no working key are logged at `debug`: a client without a key must not be able to fill a
 * disk. The metrics count them.
 */
export function createNoteEnd(
  log: Log,
  writeLine: WriteRequestLine,
  metrics: GatewayMetrics,
  now: () => number,
): NoteEnd {
  return (request, end) => {
    const ms = now() - request.startedAtMs
    const { status, outcome, code, stream, record, firstChunkMs, overheadMs } = end
    metrics.requests.inc({
      outcome,
      status_class: statusClasses[Math.floor(status / 100)] ?? 'other',
      stream,
    })
    metrics.requestSeconds.observe({ stream }, ms / 1000)
    if (code !== null) metrics.refusals.inc({ code })
    if (overheadMs !== undefined) metrics.overheadSeconds.observe({}, overheadMs / 1000)
    if (record !== undefined) countRecord(metrics, record, firstChunkMs)
    if (isAnybodys(end) || request.method === 'HEAD') log.debug(lineOf(request, end, ms), 'request')
    else writeLine(lineOf(request, end, ms))
  }
}

/** Rejected before any key is looked up. */
const keylessCodes: ReadonlySet<string | null> = new Set([
  'unknown_url',
  'method_not_allowed',
  'malformed_request',
])

/** Whether it needed no working key, like a probe by HEAD: 204 to a preflight, 401, 499 before the body had arrived, 503 before a key lookup. */
function isAnybodys({ keyId, status, code }: RequestEnd): boolean {
  return status === 401 || (keyId === null && (status === 204 || status >= 499 || keylessCodes.has(code)))
}

const statusClasses = ['0xx', '1xx', '2xx', '3xx', '4xx', '5xx']

function lineOf(request: FastifyRequest, end: RequestEnd, ms: number) {
  return {
    requestId: request.id,
    method: request.method,
    path: request.routeOptions.url ?? 'unknown',
    status: end.status,
    outcome: end.outcome,
    code: end.code,
    stream: end.stream,
    ms: Math.round(ms),
    costRub: end.costNano === null ? null : formatRub(nanoRub(end.costNano)),
    modelAsked: end.modelAsked,
    organizationId: end.organizationId,
    keyId: end.keyId,
    modelRan: end.modelRan,
    attempts: end.attempts,
  }
}

const nothingKnown = {
  stream: 'unknown',
  modelAsked: null,
  organizationId: null,
  keyId: null,
  modelRan: null,
  attempts: 0,
  costNano: null,
} as const

/** The end of a request that was rejected before it was admitted. */
export function endOfRefusal({ refusal, key, owner, isListed, modelAsked }: Refused): RequestEnd {
  const { status, code } = refusal
  const known = key ?? owner
  return {
    ...nothingKnown,
    ...ownerOf(known),
    ...(known === undefined || isListed ? {} : { unlisted: refusal }),
    modelAsked: modelAsked?.slice(0, loggedLengthMax) ?? null,
    status,
    outcome: 'refused',
    code,
  }
}

/** Longest model name to log: the caller chose it, and it may not be a model's name at all. */
const loggedLengthMax = 200

function ownerOf(key: KeyOwner | null | undefined): Pick<ExchangeReport, 'organizationId' | 'keyId'> {
  return { organizationId: key?.organizationId ?? null, keyId: key?.keyId ?? null }
}

/** The key that was rejected permanently, because it was revoked or rotated out. */
export function revokedKeyOf({ code, organizationId, keyId }: RequestEnd): KeyOwner | undefined {
  if (code !== 'invalid_api_key' || organizationId === null || keyId === null) return undefined
  return { organizationId, keyId }
}

/** The end of a request that called no model and succeeded; `status` if it was not 200. */
export function endOfLookup(key?: KeyOwner | null, status = 200): RequestEnd {
  return {
    ...nothingKnown,
    ...ownerOf(key),
    status,
    outcome: status < 400 ? 'completed' : 'refused',
    code: null,
  }
}

/** The end of a request whose client left before it was admitted, or was too slow in sending it. */
export const leftUnadmitted: RequestEnd = {
  ...nothingKnown,
  status: 499,
  outcome: 'client_gone',
  code: null,
}
