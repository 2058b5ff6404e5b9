import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Inspection } from '#cabinet/admission/admission-reply'
import type { Log } from '#cabinet/process/log'
import { sendRefusal } from '../http/answer.ts'
import { type InspectCaller, limitsShown, type Refused } from '../http/key-first.ts'
import { endOfRefusal, type NoteEnd, type RequestEnd } from '../http/request-end.ts'
import type { RouteTable } from '../routing/route-table.ts'
import { internalError } from '../wire/errors.ts'
import type { Asked, CompleteExchange, Exchange } from './exchange.ts'
import type { Prepared, Sent } from './prepare-exchange.ts'

export type ExchangeDeps = {
  /** `undefined` until a catalogue has been read. */
  readonly routes: () => RouteTable | undefined
  readonly inspect: InspectCaller
  readonly completeExchange: CompleteExchange
  readonly noteEnd: NoteEnd
  readonly log: Log
  /** `performance.now`. */
  readonly now: () => number
}

/** Reads a request of one operation, as `prepareExchange` does. */
export type Prepare = (
  sent: Sent,
  table: RouteTable | undefined,
  inspect: () => Promise<Inspection>,
) => Promise<Prepared<Asked> | Refused>

/** A route for model calls, which cost money: read, admit, serve, settle. */
export function exchangeRoute(
  app: FastifyInstance,
  path: string,
  deps: ExchangeDeps,
  prepare: Prepare,
): void {
  app.post(path, (request, reply) => {
    reply.hijack()
    answerExchange(request, reply.raw, deps, prepare)
      .then((end) => deps.noteEnd(request, end))
      .catch((error: unknown) => deps.log.error({ err: error }, 'failed to record the end of a request'))
  })
}

/** Answers a request, whatever happens. */
async function answerExchange(
  request: FastifyRequest,
  raw: Exchange['raw'],
  deps: ExchangeDeps,
  prepare: Prepare,
): Promise<RequestEnd> {
  try {
    return await exchange(request, raw, deps, prepare)
  } catch (error) {
    deps.log.error({ requestId: request.id, err: error }, 'request failed')
    if (raw.headersSent)
      raw.destroy() // a stream that has begun can only be cut
    else sendRefusal(raw, internalError, { requestId: request.id })
    return { ...endOfRefusal({ refusal: internalError }), outcome: 'crashed' }
  }
}

async function exchange(
  request: FastifyRequest,
  raw: Exchange['raw'],
  deps: ExchangeDeps,
  prepare: Prepare,
): Promise<RequestEnd> {
  const startedAtMs = deps.now() // the body has arrived: how long that took is up to the client
  const { caller, headers, body, id: requestId } = request
  if (caller === null) throw new Error('a route handler was called without an authenticated caller')
  const inspect = () => deps.inspect(request)
  const sent = { headers, body: Buffer.isBuffer(body) ? body : Buffer.alloc(0) }
  const prepared = await prepare(sent, deps.routes(), inspect)
  if ('refusal' in prepared) {
    sendRefusal(raw, prepared.refusal, { requestId, ...limitsShown(prepared) })
    return endOfRefusal(prepared)
  }
  const report = await deps.completeExchange({ ...prepared, requestId, startedAtMs, caller, raw })
  return {
    ...report,
    stream: prepared.mode === 'stream' ? 'yes' : 'no',
    modelAsked: prepared.request.model,
  }
}
