import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Log } from '#cabinet/process/log'
import { createNoteOutage, type NoteOutage } from '#cabinet/process/outage-note'
import type { Refusal } from '#cabinet/refusals/refusal'
import { sendForwarded, sendRefusal } from '../http/answer.ts'
import { refuseAddress } from '../http/early-refusal.ts'
import { endOfLookup, endOfRefusal, type NoteEnd } from '../http/request-end.ts'
import { requestIdOf } from '../http/request-id.ts'
import { receiptsNotServed, receiptsUnavailable } from '../wire/errors.ts'
import { CabinetUnavailable, type ForwardedAnswer, type ReceiptSource } from './receipt-source.ts'

type ReceiptDeps = {
  /** `undefined` where the gateway was not told of a cabinet. */
  readonly receipts: ReceiptSource | undefined
  readonly noteEnd: NoteEnd
  readonly log: Log
}

/** `GET /v1/requests/{id}`, of a request or its chat's answer: forwarded to the cabinet, which knows it from Postgres. */
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
  { receipts, noteCabinet }: Pick<ReceiptDeps, 'receipts'> & { readonly noteCabinet: NoteOutage },
): Promise<ForwardedAnswer | { readonly refusal: Refusal }> {
  if (id === '') return { refusal: refuseAddress(request.raw) }
  if (receipts === undefined) return { refusal: receiptsNotServed }
  const { authorization = '' } = request.headers
  try {
    const answer = await receipts.ask({ id: requestIdOf(id), authorization, requestId: request.id })
    noteCabinet('answers', { requestId: request.id })
    return answer
  } catch (error) {
    if (!(error instanceof CabinetUnavailable)) throw error
    noteCabinet('is away', { requestId: request.id, err: error })
    return { refusal: receiptsUnavailable }
  }
}
