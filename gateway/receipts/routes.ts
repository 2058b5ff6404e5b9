import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Refusal, receiptsNotServed, receiptsUnavailable } from '../errors.ts'
import { sendForwarded, sendRefusal } from '../http/answer.ts'
import { refuseAddress } from '../http/early-refusal.ts'
import { endOfLookup, endOfRefusal, type Log, type NoteEnd } from '../http/request-end.ts'
import { requestIdOf } from '../http/request-id.ts'
import { CabinetUnavailable, type ForwardedAnswer, type ReceiptSource } from './receipt-source.ts'

type ReceiptDeps = {
  /** `undefined` where the gateway was not told of a cabinet. */
  readonly receipts: ReceiptSource | undefined
  readonly noteEnd: NoteEnd
  readonly log: Log
}

/** `GET /v1/requests/{id}`, of a request or its chat's answer: forwarded to the cabinet, which knows it from Postgres. */
export function receiptRoutes(app: FastifyInstance, deps: ReceiptDeps): void {
  const noteCabinet = createNoteCabinet(deps.log)
  app.get<{ Params: { '*': string } }>('/v1/requests/*', async (request, reply) => {
    const answer = await forward(request, request.params['*'], { ...deps, noteCabinet })
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
  { receipts, noteCabinet }: Pick<ReceiptDeps, 'receipts'> & { readonly noteCabinet: NoteCabinet },
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

type NoteCabinet = (state: 'answers' | 'is away', facts: object) => void

/** Warns where the cabinet begins to be away, not for each receipt: its key may be made up. */
function createNoteCabinet(log: Log): NoteCabinet {
  let last: 'answers' | 'is away' = 'answers'
  return (state, facts) => {
    const isNews = state !== last
    last = state
    if (state === 'is away') log[isNews ? 'warn' : 'debug'](facts, 'a receipt could not be had')
    else if (isNews) log.info(facts, 'receipts can be had again')
  }
}
