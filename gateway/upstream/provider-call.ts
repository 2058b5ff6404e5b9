import { Agent, type Dispatcher } from 'undici'
import type { TransportFault } from './failure.ts'

/** Connections to one provider. A stream occupies one to its end; undici opens them as needed. */
const connectionsPerOriginMax = 4096
/** Providers' addresses that one gateway keeps connections to. */
const originsMax = 1024
/** Time that an idle connection is kept, in ms: below uvicorn's 5 s, so that we rarely meet a closing one. */
const keepAliveMs = 4000
/** Longest that a provider's own keep-alive hint is followed, in ms. */
const keepAliveMsMax = 60_000

export type AnswerHeaders = { readonly [name: string]: string | string[] | undefined }

export type ProviderCallRequest = {
  readonly url: string
  /** Must hold credential and content type. `accept-encoding: identity` is added. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  /** From the call to the first byte of the body, in ms. For a plain answer that is its whole generation. */
  readonly firstByteMs: number
  /** Between two reads of the body while it is not paused, in ms. */
  readonly idleMs: number
  readonly answerBytesMax: number
}

/**
 * Told of one call: headers, data, then exactly one of the other three; nothing after `cancel()`.
 *
 * `onCrash` is an error thrown by one of these functions themselves: a fault of ours, not the provider's.
 */
export type ProviderCallHandler = {
  readonly onHeaders: (status: number, headers: AnswerHeaders) => void
  readonly onData: (bytes: Buffer) => void
  readonly onEnd: () => void
  readonly onFault: (fault: TransportFault) => void
  readonly onCrash: (error: unknown) => void
}

export type ProviderCall = {
  /** Stops reading, so that a slow client slows the provider; the idle clock stands meanwhile. */
  pause(): void
  resume(): void
  /** Closes the connection; nothing is reported any more. Harmless at any time. */
  cancel(): void
}

export type ProviderCalls = {
  /** Sends one POST. Follows no redirect and repeats nothing. */
  call(request: ProviderCallRequest, handler: ProviderCallHandler): ProviderCall
  /** Cuts what still runs and closes every connection. */
  close(): Promise<void>
}

/** The gateway's connections to providers: kept alive, bounded, HTTP/1.1. `connectMs` bounds the wait for one, new or free. */
export function createProviderCalls(settings: { readonly connectMs: number }): ProviderCalls {
  const agent = new Agent({
    allowH2: false,
    connections: connectionsPerOriginMax,
    maxOrigins: originsMax,
    connectTimeout: settings.connectMs,
    keepAliveTimeout: keepAliveMs,
    keepAliveMaxTimeout: keepAliveMsMax,
    // Our own clocks: undici's are coarse and run while we pause.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  return {
    call: (request, handler) => startCall(agent, settings.connectMs, request, handler),
    close: () => agent.destroy(),
  }
}

function startCall(
  agent: Agent,
  connectMs: number,
  request: ProviderCallRequest,
  handler: ProviderCallHandler,
): ProviderCall {
  const startedAtMs = performance.now()
  let controller: Dispatcher.DispatchController | undefined
  let phase: 'connecting' | 'waiting' | 'answering' | 'over' = 'connecting'
  let hasData = false
  let isPaused = false
  let answerBytes = 0
  let clock = setTimeout(fail, connectMs, 'connect_timeout')

  function setClock(ms: number, fault: TransportFault): void {
    clearTimeout(clock)
    clock = setTimeout(fail, ms, fault)
  }

  /** Ends the call on our side; what undici still says is not heard. */
  function stop(): void {
    phase = 'over'
    clearTimeout(clock)
  }

  function fail(fault: TransportFault): void {
    if (phase === 'over') return
    stop()
    controller?.abort(new CallEnded())
    guard(() => handler.onFault(fault))
  }

  function guard(tell: () => void): void {
    try {
      tell()
    } catch (error) {
      stop()
      controller?.abort(new CallEnded())
      handler.onCrash(error)
    }
  }

  const dispatchHandler: Dispatcher.DispatchHandler = {
    onRequestStart(started) {
      controller = started
      if (phase === 'over') return started.abort(new CallEnded())
      phase = 'waiting'
      setClock(Math.max(request.firstByteMs - (performance.now() - startedAtMs), 1), 'first_byte_timeout')
    },
    onResponseStart(_, status, headers) {
      if (phase === 'over' || status < 200) return
      phase = 'answering'
      const encoding = headers['content-encoding'] ?? 'identity'
      if (status < 300 && encoding !== 'identity') return fail('answer_encoded')
      guard(() => handler.onHeaders(status, headers))
    },
    onResponseData(_, bytes) {
      if (phase === 'over') return
      answerBytes += bytes.length
      if (answerBytes > request.answerBytesMax) return fail('answer_too_large')
      if (hasData) clock.refresh()
      else setClock(request.idleMs, 'idle_timeout')
      hasData = true
      guard(() => handler.onData(bytes))
    },
    onResponseEnd() {
      if (phase === 'over') return
      stop()
      guard(handler.onEnd)
    },
    onResponseError(_, error) {
      if (phase !== 'over') fail(faultOf(error, phase))
    },
  }

  const { origin, pathname, search } = new URL(request.url)
  const headers = { 'accept-encoding': 'identity', ...request.headers }
  agent.dispatch(
    { origin, path: `${pathname}${search}`, method: 'POST', headers, body: request.body },
    dispatchHandler,
  )

  return {
    pause() {
      if (phase !== 'answering' || isPaused) return
      isPaused = true
      clearTimeout(clock)
      controller?.pause()
    },
    resume() {
      if (phase !== 'answering' || !isPaused) return
      isPaused = false
      hasData = false
      setClock(request.idleMs, 'idle_timeout')
      controller?.resume()
    },
    cancel() {
      if (phase === 'over') return
      stop()
      controller?.abort(new CallEnded())
    },
  }
}

/** Given to undici as the reason of an abort; nobody reads it. */
class CallEnded extends Error {}

function faultOf(error: Error, phase: 'connecting' | 'waiting' | 'answering'): TransportFault {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  if (code.startsWith('HPE_') || code === 'UND_ERR_HEADERS_OVERFLOW') return 'bad_http'
  if (phase === 'answering') return 'cut'
  if (phase === 'waiting') return 'reset'
  if (code === 'ECONNREFUSED') return 'connect_refused'
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'dns_failed'
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT') return 'connect_timeout'
  return tlsCodes.test(code) ? 'tls_failed' : 'connect_failed'
}

const tlsCodes = /^(?:ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|EPROTO)/

/** Bytes of an answer, put together once it is whole. Bounded by the call's `answerBytesMax`. */
export function createBodyCollector(): { push(bytes: Buffer): void; text(): string } {
  const parts: Buffer[] = []
  return {
    push: (bytes) => void parts.push(bytes),
    text: () => Buffer.concat(parts).toString('utf8'),
  }
}
