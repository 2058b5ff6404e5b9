import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import { formatRub, nanoRub } from '#cabinet/money'
import type { ExchangeReport } from '../chat/chat-exchange.ts'
import type { Refusal } from '../errors.ts'
import { countRecord, type GatewayMetrics } from '../metrics.ts'

export type Log = Pick<FastifyBaseLogger, 'debug' | 'info' | 'warn' | 'error'>

/** What is noted of every request once it is over. */
export type RequestEnd = ExchangeReport & {
  readonly stream: 'yes' | 'no' | 'unknown'
  readonly modelAsked: string | null
}

export type NoteEnd = (request: FastifyRequest, end: RequestEnd) => void

/**
 * Counts every request once and writes its one log line: no body, no header, no key but its id.
 *
 * A 401 is logged at `debug`: whoever has no key must not be able to fill a disk. The metrics count it.
 */
export function createNoteEnd(log: Log, metrics: GatewayMetrics, now: () => number): NoteEnd {
  return (request, end) => {
    const seconds = (now() - request.startedAtMs) / 1000
    const { status, outcome, code, stream, costNano, record, overheadMs, ...rest } = end
    metrics.requests.inc({ outcome, status_class: `${Math.floor(status / 100)}xx`, stream })
    metrics.requestSeconds.observe({ stream }, seconds)
    if (code !== null) metrics.refusals.inc({ code })
    if (overheadMs !== undefined) metrics.overheadSeconds.observe(overheadMs / 1000)
    if (record !== undefined) countRecord(metrics, record)
    const line = {
      requestId: request.id,
      method: request.method,
      path: request.routeOptions.url ?? 'unknown',
      status,
      outcome,
      code,
      stream,
      ms: Math.round(seconds * 1000),
      costRub: costNano === null ? null : formatRub(nanoRub(costNano)),
      ...rest,
    }
    if (status === 401) log.debug(line, 'request')
    else log.info(line, 'request')
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

/** The end of a request that was refused before it was admitted. */
export function endOfRefusal({ status, code }: Refusal): RequestEnd {
  return { ...nothingKnown, status, outcome: 'refused', code }
}

/** The end of a request that called no model and was answered; `status` where it was not 200. */
export function endOfLookup(
  key?: Pick<ExchangeReport, 'organizationId' | 'keyId'>,
  status = 200,
): RequestEnd {
  const { organizationId = null, keyId = null } = key ?? {}
  return {
    ...nothingKnown,
    organizationId,
    keyId,
    status,
    outcome: status < 400 ? 'completed' : 'refused',
    code: null,
  }
}

/** The end of a request that never arrived whole: its client left, or was too slow. */
export const leftWhileSending: RequestEnd = {
  ...nothingKnown,
  status: 499,
  outcome: 'client_gone',
  code: null,
}
