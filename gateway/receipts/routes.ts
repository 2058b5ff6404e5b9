import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Refusal, receiptsNotServed, receiptsUnavailable } from '../errors.ts'
import { sendForwarded, sendRefusal } from '../http/answer.ts'
import { refuseAddress } from '../http/early-refusal.ts'
import { endOfLookup, endOfRefusal, type Log, type NoteEnd } from '../http/request-end.ts'
import { CabinetUnavailable, type ForwardedAnswer, type ReceiptSource } from './receipt-source.ts'

type ReceiptDeps = {
  /** `undefined` where the gateway was not told of a cabinet. */
  readonly receipts: ReceiptSource | undefined
  readonly noteEnd: NoteEnd
  readonly log: Log
}

/** `GET /v1/requests/{id}`: forwarded to the cabinet, which knows key and request from Postgres. */
export function receiptRoutes(app: FastifyInstance, deps: ReceiptDeps): void {
  app.get<{ Params: { '*': string } }>('/v1/requests/*', async (request, reply) => {
    const answer = await forward(request, request.params['*'], deps)
    reply.hijack()
    if ('refusal' in answer) {
      sendRefusal(reply.raw, answer.refusal, { requestId: request.id })
      deps.noteEnd(request, endOfRefusal(answer.refusal))
    } else {
      sendForwarded(reply.raw, answer, { requestId: request.id })
      deps.noteEnd(request, endOfLookup(undefined, answer.status))
    }
  })
}

async function forward(
  request: FastifyRequest,
  id: string,
  { receipts, log }: ReceiptDeps,
): Promise<ForwardedAnswer | { readonly refusal: Refusal }> {
  if (id === '') return { refusal: refuseAddress(request.raw) }
  if (receipts === undefined) return { refusal: receiptsNotServed }
  const { authorization = '' } = request.headers
  try {
    return await receipts.ask({ id, authorization, requestId: request.id })
  } catch (error) {
    if (!(error instanceof CabinetUnavailable)) throw error
    log.warn({ requestId: request.id, err: error }, 'a receipt could not be had')
    return { refusal: receiptsUnavailable }
  }
}
