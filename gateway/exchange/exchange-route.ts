import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Inspection } from '#core/admission/admission-reply'
import type { Log } from '#core/process/log'
import type { ApiFormat } from '../formats/api-format.ts'
import type { Access } from '../http/access.ts'
import { sendRefusal } from '../http/answer.ts'
import type { Caller } from '../http/authenticate.ts'
import type { BodyReader } from '../http/body-reader.ts'
import {
  type CountCaller,
  type InspectCaller,
  keyFirst,
  limitsShown,
  type Refused,
} from '../http/key-first.ts'
import { endOfRefusal, leftUnadmitted, type NoteEnd, type RequestEnd } from '../http/request-end.ts'
import type { RouteTable } from '../routing/route-table.ts'
import type { PromptMeasurer } from '../tokens/prompt-measurer.ts'
import { internalError } from '../wire/errors.ts'
import type { MeasurePrompt } from './candidates.ts'
import type { Asked, CompleteExchange, Exchange } from './exchange.ts'
import type { OwnFormat, Prepared, Sent } from './prepare-exchange.ts'

export type ExchangeDeps = {
  /** `undefined` until a catalog has been read. */
  readonly routes: () => RouteTable | undefined
  readonly inspect: InspectCaller
  readonly countRefused: CountCaller
  readonly completeExchange: CompleteExchange
  readonly measurer: PromptMeasurer
  readonly noteEnd: NoteEnd
  /** Counts content of a request besides its body; `body-reader.ts` takes it off at its end. */
  readonly holdMore: BodyReader['hold']
  readonly log: Log
  /** `performance.now`. */
  readonly now: () => number
}

/** Reads a request of one operation, as `prepareExchange` does. */
export type Prepare = (
  sent: Sent,
  table: RouteTable | undefined,
  inspect: () => Promise<Inspection>,
  measurePrompt: MeasurePrompt,
) => Promise<Prepared<Asked & OwnFormat> | (Refused & OwnFormat)>

/** Where an operation is served, and in which API format; a request whose body was read may have its own. */
type Endpoint = { readonly path: string; readonly access: Access; readonly format: ApiFormat }

/** A route for model calls, which cost money: read, admit, serve, settle. */
export function exchangeRoute(
  app: FastifyInstance,
  { path, access, format }: Endpoint,
  deps: ExchangeDeps,
  prepare: Prepare,
): void {
  app.post(path, { config: { access, rejections: format } }, (request, reply) => {
    reply.hijack()
    answerExchange({ request, raw: reply.raw, format }, deps, prepare)
      .then((end) => deps.noteEnd(request, end))
      .catch((error: unknown) => deps.log.error({ err: error }, 'failed to record the end of a request'))
  })
}

/** Answers a request, whatever happens. */
type Asking = Pick<Exchange, 'raw' | 'format'> & { readonly request: FastifyRequest }

async function answerExchange(
  { request, raw, format }: Asking,
  deps: ExchangeDeps,
  prepare: Prepare,
): Promise<RequestEnd> {
  try {
    return await exchange({ request, raw, format }, deps, prepare)
  } catch (error) {
    deps.log.error({ requestId: request.id, err: error }, 'request failed')
    if (raw.headersSent)
      raw.destroy() // a stream that has begun can only be cut
    else sendRefusal(raw, internalError, { requestId: request.id }, format)
    return { ...endOfRefusal({ refusal: internalError }), outcome: 'crashed' }
  }
}

async function exchange(
  { request, raw, format }: Asking,
  deps: ExchangeDeps,
  prepare: Prepare,
): Promise<RequestEnd> {
  const startedAtMs = deps.now() // the body has arrived: how long that took is up to the client
  const { caller, headers, body, id: requestId } = request
  if (caller === null) throw new Error('a route handler was called without an authenticated caller')
  const inspect = () => deps.inspect(request)
  const sent = {
    requestId,
    caller,
    headers,
    body: Buffer.isBuffer(body) ? body : Buffer.alloc(0),
    hold: (bytes: number, organizationId: string) => deps.holdMore(request, bytes, organizationId),
  }
  const measurePrompt: MeasurePrompt = (prompt, families) =>
    deps.measurer.measure(caller.secretHash, prompt, families)
  const prepared = await prepare(sent, deps.routes(), inspect, measurePrompt)
  if ('refusal' in prepared) {
    const refused = isCounted(prepared, sent) ? await countRefused(prepared, caller, deps) : prepared
    sendRefusal(raw, refused.refusal, { requestId, ...limitsShown(refused) }, prepared.format ?? format)
    return endOfRefusal(refused)
  }
  const report = await deps.completeExchange({ format, ...prepared, requestId, startedAtMs, caller, raw })
  const isWorkForNothing = report === leftUnadmitted || (report.outcome === 'refused' && report.status < 500)
  if (isWorkForNothing && sent.body.length > countedAboveBytes) await deps.countRefused(caller)
  return {
    ...report,
    stream: prepared.mode === 'stream' ? 'yes' : 'no',
    modelAsked: prepared.request.model,
  }
}

/** Bodies that take more time to read than it takes to reject them otherwise. */
const countedAboveBytes = 16 * 1024

/** A faulty request, or a large one whatever is wrong with it, was work that its key could ask for without end. */
function isCounted({ refusal, key }: Refused, { body }: Sent): boolean {
  const isOfRequest = key != null && refusal.status < 500
  return isOfRequest && (refusal.status === 400 || body.length > countedAboveBytes)
}

/**
 * Uses one of the key's RPM. If none is left, or the key was revoked in the meantime, the client gets that
 * error.
 */
async function countRefused(
  { refusal, modelAsked }: Refused,
  caller: Caller,
  deps: ExchangeDeps,
): Promise<Refused> {
  return keyFirst(await deps.countRefused(caller), refusal, modelAsked)
}
