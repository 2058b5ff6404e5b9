import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type onRequestHookHandler,
} from 'fastify'
import type { Admission } from '#core/admission/admission'
import type { ClientAddress, Inspection } from '#core/admission/admission-reply'
import type { Refusal } from '#core/errors/refusal'
import { callerAddress } from '#core/process/caller-address'
import type { KeyList } from '#core/process/key-list'
import type { Log } from '#core/process/log'
import type { Networks } from '#core/process/networks'
import { chatRoutes } from './chat/routes.ts'
import type { HttpLimits } from './config.ts'
import { embeddingRoutes } from './embeddings/routes.ts'
import type { CompleteExchange } from './exchange/exchange.ts'
import { messagesRejections } from './formats/messages-format.ts'
import { guardRoutes } from './http/access.ts'
import {
  documentErrors,
  isPreflight,
  type RejectionFormat,
  sendEmpty,
  sendPreflight,
  sendRefusal,
} from './http/answer.ts'
import { type Caller, createFindCaller } from './http/authenticate.ts'
import { type BodyReader, BodyRefused, createBodyReader } from './http/body-reader.ts'
import { answerClientError, answerTunnel, type OpenAnswers } from './http/client-error.ts'
import type { ConnectionShare } from './http/connection-share.ts'
import { refuseAddress, refuseProtocol } from './http/early-refusal.ts'
import type { HeldBodies } from './http/held-bodies.ts'
import {
  createCountCaller,
  createInspectCaller,
  createTakeTokenCount,
  type InspectCaller,
  keyFirst,
  limitsShown,
  type Refused,
} from './http/key-first.ts'
import type { KeyedDeps } from './http/keyed-answer.ts'
import { createRejectionNotes } from './http/rejection-notes.ts'
import {
  createNoteEnd,
  endOfLookup,
  endOfRefusal,
  leftUnadmitted,
  type NoteEnd,
  type RequestEnd,
  revokedKeyOf,
  type WriteRequestLine,
} from './http/request-end.ts'
import { newRequestId } from './http/request-id.ts'
import { createRevokedKeys, type RevokedKeys } from './http/revoked-keys.ts'
import { keyRoutes } from './key/routes.ts'
import { messagesRoutes } from './messages/routes.ts'
import { type GatewayMetrics, watchBodies, watchOpen } from './metrics/metrics.ts'
import { modelRoutes } from './models/routes.ts'
import type { ReceiptSource } from './receipts/receipt-source.ts'
import { receiptRoutes } from './receipts/routes.ts'
import type { ResponseStore } from './response-store/response-store.ts'
import { responsesRoutes } from './responses/routes.ts'
import type { RouteTable } from './routing/route-table.ts'
import type { PromptMeasurer } from './tokens/prompt-measurer.ts'
import type { TokenDecoder } from './tokens/token-decoder.ts'
import type { ProviderCalls } from './upstream/provider-call.ts'
import { internalError, unsupportedMediaType } from './wire/errors.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** `null` only until the key was read. */
    caller: Caller | null
    /** Set while the client waits for permission to send its body: sends that permission. */
    askForBody: (() => void) | null
    /** The reply of Redis about the key, once looked up (`http/key-first.ts`). */
    inspection: Promise<Inspection> | null
    /** `performance.now()` when the headers had been read. */
    startedAtMs: number
  }
}

export type AppDeps = {
  readonly http: HttpLimits
  readonly keyPepper: string
  /** Proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: Networks
  readonly sealingKeys: KeyList<Uint8Array>
  readonly admission: Pick<Admission, 'inspect' | 'count' | 'takeTokenCount' | 'list'>
  readonly share: ConnectionShare
  /** The memory for bodies. */
  readonly held: HeldBodies
  readonly routes: () => RouteTable | undefined
  readonly completeExchange: CompleteExchange
  /** For questions that are no exchange. */
  readonly calls: ProviderCalls
  readonly decoder: TokenDecoder
  readonly measurer: PromptMeasurer
  /** The cabinet's receipts, if there is a cabinet. */
  readonly receipts: ReceiptSource | undefined
  /** The stored responses, if there is a cabinet. */
  readonly responses: ResponseStore | undefined
  /** Public address of the cabinet, without a slash at its end; its documentation explains errors. */
  readonly publicCabinetUrl?: string | undefined
  readonly metrics: GatewayMetrics
  readonly log: Log
  readonly writeRequestLine: WriteRequestLine
  /** `performance.now`. */
  readonly now: () => number
}

/** How long the rest of a rejected body is still read and discarded, so that the client can read our answer. */
const lingerMs = 2000
/** How often Node checks for connections past their timeout. */
const clockIntervalMs = 5000

/** The gateway's public HTTP application; opens no socket and no connection. */
export function buildApp(deps: AppDeps): FastifyInstance {
  const { metrics, now } = deps
  const raw = createRawAnswers(metrics, deps.publicCabinetUrl)
  let openCount = 0
  watchOpen(metrics, () => openCount)
  const writeEnd = createNoteEnd(deps.log, deps.writeRequestLine, metrics, now)
  const noteEnd: NoteEnd = (request, end) => {
    openCount -= 1
    bodies.release(request)
    deps.share.release(request.raw)
    rejections.add(request.id, end)
    rememberRevoked(revoked, request, end)
    writeEnd(request, end)
  }
  const inspect = createInspectCaller(deps.admission)
  const rejections = createRejectionNotes(deps)
  const bodies = createBodyReader(deps.http.bodyBytesMax, { inspect, share: deps.share, held: deps.held })
  watchBodies(metrics, deps.held.bytes)
  const revoked = createRevokedKeys(now)
  const begin = (request: FastifyRequest, { raw }: FastifyReply) => {
    request.startedAtMs = now()
    openCount += 1
    documentErrors(raw, deps.publicCabinetUrl)
  }
  const app = Fastify({
    ...serverOptions(deps.http),
    logger: false, // one line per request, written by `noteEnd`
    genReqId: () => newRequestId(Date.now()),
    clientErrorHandler: raw.onError,
    frameworkErrors: (_error, request, reply) => {
      begin(request, reply) // no hook ran: the URL could not be decoded
      refuse(request, reply, { refusal: refuseAddress(request.raw) })
    },
  })

  /** Answers at once and reads no further. The rest of the body is discarded for a moment, then the connection closes. */
  const refuse: Refuse = (request, reply, refused) => {
    reply.hijack()
    const facts = { requestId: request.id, ...limitsShown(refused) }
    sendRefusal(reply.raw, refused.refusal, facts, rejectionsOf(request))
    linger(request.raw)
    noteEnd(request, endOfRefusal(refused))
  }

  decorateRequests(app)
  app.addHook('onClose', rejections.flush)
  app.addHook('onRequest', (request, reply, done) => {
    begin(request, reply)
    raw.answers.last.set(request.raw.socket, { raw: reply.raw, rejections: rejectionsOf(request) })
    if (request.is404 && isPreflight(request.raw)) return answerPreflight(request, reply, noteEnd)
    const refusal = refuseProtocol(request.raw) ?? (request.is404 ? refuseAddress(request.raw) : undefined)
    if (refusal !== undefined) return refuse(request, reply, { refusal })
    done()
  })
  guardRoutes(app, { api_key: createKeyGuard(deps, revoked, refuse) })

  readOnlyJson(app, bodies)
  app.setErrorHandler(async (error, request, reply) => {
    reply.hijack()
    if (request.raw.destroyed) return noteEnd(request, leftUnadmitted)
    const refusal = refusalOf(error)
    if (refusal === internalError) deps.log.error({ requestId: request.id, err: error }, 'request failed')
    refuse(request, reply, await withKeyFirst(request, refusal, inspect, deps.log))
  })

  addRoutes(app, { ...deps, inspect, noteEnd, bodies })
  doOurselves(app.server, raw)
  return app
}

function readOnlyJson(app: FastifyInstance, bodies: BodyReader): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', bodies.read)
}

function rememberRevoked(revoked: RevokedKeys, { caller }: FastifyRequest, end: RequestEnd): void {
  const revokedKey = revokedKeyOf(end)
  // Of an address that cannot be decoded there is not even `null`.
  if (caller && revokedKey) revoked.add(caller.secretHash, revokedKey)
}

/** Answers what Node gives to no request handler, and counts it. */
function createRawAnswers({ refusals }: GatewayMetrics, cabinetUrl: string | undefined) {
  const answers: OpenAnswers = { last: new WeakMap(), cabinetUrl }
  const note = (refusal: Refusal | undefined) => {
    if (refusal !== undefined) refusals.inc({ code: refusal.code })
  }
  return {
    answers,
    onError: (error: Error, socket: Socket) =>
      note(answerClientError(error, socket, newRequestId(Date.now()), answers)),
    onTunnel: (_request: IncomingMessage, socket: Socket) =>
      note(answerTunnel(socket, newRequestId(Date.now()), answers)),
  }
}

/** Answers a request with a refusal. */
type Refuse = (request: FastifyRequest, reply: FastifyReply, refused: Refused) => void

/** Anthropic's clients read errors of any path in their format; these are the paths that they call. OpenAI has others that end so. */
const messagesPaths = /^(?!\/v1\/(?:chat|threads)\/)[^?]*\/messages(?:\/|\?|$)/

/** How rejections of a request are written: as its route has it, or the route that its client looks for. */
function rejectionsOf({ routeOptions, raw, headers }: FastifyRequest): RejectionFormat | undefined {
  const { rejections } = routeOptions.config ?? {}
  if (rejections !== undefined) return rejections
  const isTheirs = headers['anthropic-version'] !== undefined || messagesPaths.test(raw.url ?? '')
  return isTheirs ? messagesRejections : undefined
}

/** Lets a request through if its key may be valid, and notes whose it is. */
function createKeyGuard(
  { keyPepper, trustedProxies }: Pick<AppDeps, 'keyPepper' | 'trustedProxies'>,
  revoked: RevokedKeys,
  refuse: Refuse,
): onRequestHookHandler {
  const findCaller = createFindCaller(keyPepper, revoked)
  return (request, reply, done) => {
    const found = findCaller(request.headers)
    if ('refusal' in found) return refuse(request, reply, found)
    request.caller = { ...found.caller, address: addressOf(request.raw, trustedProxies) }
    if (isToContinue(request.raw)) request.askForBody = () => reply.raw.writeContinue()
    done()
  }
}

/** Read now, because a socket that is closed has no address, and decided only if it matters. */
function addressOf({ socket, headers }: IncomingMessage, trustedProxies: Networks): ClientAddress {
  const peer = socket.remoteAddress ?? ''
  const forwardedFor = headers['x-forwarded-for']
  return () => callerAddress(peer, forwardedFor?.toString(), trustedProxies)
}

function decorateRequests(app: FastifyInstance): void {
  app.decorateRequest('caller', null)
  app.decorateRequest('inspection', null)
  app.decorateRequest('askForBody', null)
  app.decorateRequest('startedAtMs', 0)
}

/** Replaces decisions that Node would make about a request before our code runs. */
function doOurselves(
  server: Server,
  { onTunnel }: Pick<ReturnType<typeof createRawAnswers>, 'onTunnel'>,
): void {
  server.on('connect', onTunnel)
  // A client may end its side after its request, and waits for the answer; `departure.ts` finds out who does not.
  Object.assign(server, { httpAllowHalfOpen: true }) // neither documented nor typed
  // By default Node would ask for the body, which is the task of `body-reader.ts`, and send 417 without our
  // body and headers.
  for (const expectation of ['checkContinue', 'checkExpectation'])
    server.on(expectation, (request, response) => server.emit('request', request, response))
}

/** Errors of a request's key come before errors of the request. */
async function withKeyFirst(
  request: FastifyRequest,
  refusal: Refusal,
  inspect: InspectCaller,
  log: Log,
): Promise<Refused> {
  if (request.caller === null || refusal === internalError) return { refusal }
  try {
    return keyFirst(await inspect(request), refusal)
  } catch (error) {
    log.error({ requestId: request.id, err: error }, 'API key lookup failed')
    return { refusal: internalError }
  }
}

function addRoutes(
  app: FastifyInstance,
  { bodies, ...given }: AppDeps & KeyedDeps & { readonly bodies: BodyReader },
): void {
  const deps = {
    ...given,
    countRefused: createCountCaller(given.admission),
    takeTokenCount: createTakeTokenCount(given.admission),
    holdMore: bodies.hold,
  }
  chatRoutes(app, deps)
  responsesRoutes(app, deps)
  messagesRoutes(app, deps)
  embeddingRoutes(app, deps)
  modelRoutes(app, deps)
  keyRoutes(app, deps)
  receiptRoutes(app, deps)
  probeRoutes(app, deps.noteEnd)
}

/** Claude Code asks so whether there is a server, with no key. */
function probeRoutes(app: FastifyInstance, noteEnd: NoteEnd): void {
  for (const path of ['/', '/api/hello'])
    app.head(path, { config: { access: 'anyone' } }, (request, reply) => {
      reply.hijack()
      sendEmpty(reply.raw, { requestId: request.id })
      noteEnd(request, endOfLookup(undefined))
    })
}

function serverOptions(limits: HttpLimits) {
  return {
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionTimeout: 0, // an answer may stay silent for as long as its provider may
    http: {
      headersTimeout: limits.headersTimeoutMs,
      connectionsCheckingInterval: clockIntervalMs,
      requireHostHeader: false, // `refuseProtocol` does, in our shape
    },
    return503OnClosing: false, // requests that arrive while draining are served, then their connection closes
    exposeHeadRoutes: false,
  }
}

/** Whether the client waits for `100 Continue` before it sends its body, by Node's rule. */
function isToContinue({ headers: { expect }, httpVersion }: IncomingMessage): boolean {
  return expect !== undefined && httpVersion === '1.1' && /(?:^|\W)100-continue(?:$|\W)/i.test(expect)
}

/** For every URL: a page with a wrong one can read what is wrong only if its request is allowed. */
function answerPreflight(request: FastifyRequest, reply: FastifyReply, noteEnd: NoteEnd): void {
  reply.hijack()
  sendPreflight(reply.raw, { requestId: request.id })
  linger(request.raw)
  noteEnd(request, endOfLookup(undefined, 204))
}

/** The error of a body, from this code or from Fastify. */
function refusalOf(error: unknown): Refusal {
  if (error instanceof BodyRefused) return error.refusal
  const isOfType =
    error instanceof Error && 'code' in error && error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE'
  return isOfType ? unsupportedMediaType : internalError
}

/** Closing at once with unread bytes would reset the connection, and the client might never see the answer. */
function linger(request: IncomingMessage): void {
  if (request.complete) return
  const timer = setTimeout(() => request.socket.destroy(), lingerMs)
  request.once('close', () => clearTimeout(timer))
}
