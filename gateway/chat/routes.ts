import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Inspection } from '#cabinet/admission'
import { internalError } from '../errors.ts'
import { sendRefusal } from '../http/answer.ts'
import type { InspectCaller } from '../http/key-first.ts'
import { endOfRefusal, type Log, type NoteEnd, type RequestEnd } from '../http/request-end.ts'
import type { RouteTable } from '../routing/route-table.ts'
import type { ChatExchange, CompleteChat } from './chat-exchange.ts'
import { prepareExchange } from './prepare-exchange.ts'

export type ChatDeps = {
  /** `undefined` until a catalogue has been read. */
  readonly routes: () => RouteTable | undefined
  readonly inspect: InspectCaller
  readonly completeChat: CompleteChat
  readonly noteEnd: NoteEnd
  readonly log: Log
}

/** `POST /v1/chat/completions`, plain and streamed. */
export function chatRoutes(app: FastifyInstance, deps: ChatDeps): void {
  app.post('/v1/chat/completions', async (request, reply) => {
    reply.hijack()
    deps.noteEnd(request, await answerChat(request, reply.raw, deps))
  })
}

/** Answers a request, whatever happens. */
async function answerChat(
  request: FastifyRequest,
  raw: ChatExchange['raw'],
  deps: ChatDeps,
): Promise<RequestEnd> {
  try {
    return await exchange(request, raw, deps)
  } catch (error) {
    deps.log.error({ requestId: request.id, err: error }, 'a chat request crashed')
    if (raw.headersSent)
      raw.destroy() // a stream that has begun cannot be told, only cut
    else sendRefusal(raw, internalError, { requestId: request.id })
    return { ...endOfRefusal(internalError), outcome: 'crashed' }
  }
}

async function exchange(
  request: FastifyRequest,
  raw: ChatExchange['raw'],
  deps: ChatDeps,
): Promise<RequestEnd> {
  const { caller, startedAtMs, headers, body, id: requestId } = request
  if (caller === null) throw new Error('a route was reached without a caller')
  let inspection: Promise<Inspection> | undefined
  const inspect = () => (inspection ??= deps.inspect(caller))
  const sent = { headers, body: Buffer.isBuffer(body) ? body : Buffer.alloc(0) }
  const prepared = await prepareExchange(sent, deps.routes(), inspect)
  if ('refusal' in prepared) {
    const { refusal, ...facts } = prepared
    sendRefusal(raw, refusal, { requestId, ...facts })
    return endOfRefusal(refusal)
  }
  const report = await deps.completeChat({ ...prepared, requestId, startedAtMs, caller, raw })
  const { stream, model } = prepared.request
  return { ...report, stream: stream === true ? 'yes' : 'no', modelAsked: model }
}
