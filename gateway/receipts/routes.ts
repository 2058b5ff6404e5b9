import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Inspection } from '#core/admission/admission-reply'
import { requestIdOf } from '#core/ledger/request-id'
import type { Log } from '#core/process/log'
import { createNoteOutage, type NoteOutage } from '#core/process/outage-note'
import { sendForwarded, sendRefusal } from '../http/answer.ts'
import { bearerOf } from '../http/authenticate.ts'
import { refuseAddress } from '../http/early-refusal.ts'
import type { Refused } from '../http/key-first.ts'
import type { KeyedDeps } from '../http/keyed-answer.ts'
import { endOfLookup, endOfRefusal } from '../http/request-end.ts'
import { keyRefusal, receiptsNotServed, receiptsUnavailable } from '../wire/errors.ts'
import { CabinetUnavailable, type ForwardedAnswer, type ReceiptSource } from './receipt-source.ts'

type ReceiptDeps = KeyedDeps & {
  /** `undefined` if no cabinet is configured. */
  readonly receipts: ReceiptSource | undefined
  readonly log: Log
}

/**
 * `GET /v1/requests/{id}`, of a request or its chat's response: forwarded to the cabinet, which reads it from
 * Postgres.
 */
export function receiptRoutes(app: FastifyInstance, deps: ReceiptDeps): void {
  const noteCabinet = createNoteOutage(deps.log, {
    away: 'failed to fetch a receipt from the cabinet',
    back: 'receipts are available again',
  })
  app.get<{ Params: { '*': string } }>(
    '/v1/requests/*',
    { config: { access: 'api_key' } },
    async (request, reply) => {
      const answer = await forward(request, request.params['*'], { ...deps, noteCabinet })
      reply.hijack()
      if ('refusal' in answer) {
        sendRefusal(reply.raw, answer.refusal, { requestId: request.id })
        deps.noteEnd(request, endOfRefusal(answer))
      } else {
        sendForwarded(reply.raw, answer, { requestId: request.id })
        deps.noteEnd(request, endOfLookup(undefined, answer.status))
      }
    },
  )
}

async function forward(
  request: FastifyRequest,
  id: string,
  { receipts, inspect, noteCabinet }: ReceiptDeps & { readonly noteCabinet: NoteOutage },
): Promise<ForwardedAnswer | Refused> {
  if (id === '') return { refusal: refuseAddress(request.raw) }
  const stranger = findStranger(await inspect(request))
  if (stranger !== undefined) return stranger
  if (receipts === undefined) return { refusal: receiptsNotServed }
  const authorization = bearerOf(request.headers)
  const ip = request.caller?.address() ?? ''
  try {
    const answer = await receipts.ask({ id: requestIdOf(id), authorization, ip, requestId: request.id })
    noteCabinet('answers', { requestId: request.id })
    return answer
  } catch (error) {
    if (!(error instanceof CabinetUnavailable)) throw error
    noteCabinet('is unavailable', { requestId: request.id, err: error })
    return { refusal: receiptsUnavailable }
  }
}

/** Rejected here, so that it is listed and does not count for the key. The cabinet decides all the rest. */
function findStranger(inspection: Inspection): Refused | undefined {
  if (inspection.outcome !== 'refused' || inspection.reason !== 'ip_not_allowed') return undefined
  return { refusal: keyRefusal(inspection), key: inspection.key }
}
