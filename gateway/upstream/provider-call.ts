import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import type { JsonBytes } from '../wire/json-writer.ts'
import { type SilenceClock, startSilenceClock } from '../wire/silence-clock.ts'
import type { TransportFault } from './failure.ts'
import { gatherPieces } from './internal/gathered-pieces.ts'
import type { ProviderAccess, ProviderAgents } from './provider-agents.ts'

export type AnswerHeaders = { readonly [name: string]: string | string[] | undefined }

type ProviderCallRequest = {
  readonly url: string
  readonly access: ProviderAccess
  /**
   * Must hold the credential; the very same object for each call of a provider. `content-type` is JSON's by
   * default.
   */
  readonly headers: Readonly<Record<string, string>>
  /** `null`: there is none, and the call is a GET. */
  readonly body: JsonBytes | null
  /** For a connection, new or free, in ms; at most that of `#core/egress/guarded-connector`. */
  readonly connectMs: number
  /** From the call to the first read of the body with content, in ms; `null` if the caller watches the clock itself. */
  readonly firstByteMs: number | null
  /** Between two such reads while the body is not paused, in ms. */
  readonly idleMs: number
  readonly answerBytesMax: number
}

/**
 * The content of a read. `silence`: no content, like a comment; it does not keep a provider from being late.
 */
export type Heard = 'something' | 'silence'

/**
 * Events of one call: that all of it was sent, headers, data, then exactly one of the other three. None comes
 * before `call` has returned, and none after `cancel()`. A provider may respond before it has read
 * everything.
 *
 * `onCrash` is an error thrown by one of these functions themselves: a bug in our code, not the provider's.
 */
export type ProviderCallHandler = {
  /** Headers and body were handed to the connection. */
  readonly onSent?: () => void
  readonly onHeaders: (status: number, headers: AnswerHeaders) => void
  readonly onData: (bytes: Buffer) => Heard
  readonly onEnd: () => void
  readonly onFault: (fault: TransportFault) => void
  readonly onCrash: (error: unknown) => void
}

export type ProviderCall = {
  /** Stops reading, so that a slow client slows the provider; the idle clock stops in the meantime. */
  pause(): void
  resume(): void
  /** Closes the connection; nothing is reported any more. Harmless at any time. */
  cancel(): void
}

export type ProviderCalls = {
  /** Sends one POST, or a GET. Follows no redirect and repeats nothing. */
  call(request: ProviderCallRequest, handler: ProviderCallHandler): ProviderCall
  /** Cuts what still runs and closes every connection. */
  close(): Promise<void>
}

/** Calls over the gateway's connections to providers: kept alive, bounded, HTTP/1.1. */
export function createProviderCalls(agents: ProviderAgents): ProviderCalls {
  return {
    call(request, handler) {
      const running = new RunningCall(request, handler)
      const { origin, path } = addressOf(request.url)
      const headers = headersFor(request)
      const agent = agents.agentFor(request.access)
      // Later, so that even an immediate failure (a header that cannot be sent) is reported after this
      // function has returned.
      queueMicrotask(() => {
        const { body: given } = request
        const body = given === null || Buffer.isBuffer(given) ? given : Readable.from(given)
        agent.dispatch({ origin, path, method: given === null ? 'GET' : 'POST', headers, body }, running)
        running.awaitConnection()
      })
      return running
    },
    close: agents.close,
  }
}

type Address = { readonly origin: string; readonly path: string }

/** Cache of parsed URLs: as many as a catalog has backends, then cleared. */
const addresses = new Map<string, Address>()
const addressesMax = 10_000

function addressOf(url: string): Address {
  const known = addresses.get(url)
  if (known !== undefined) return known
  const { origin, pathname, search } = new URL(url)
  const address = { origin, path: `${pathname}${search}` }
  if (addresses.size >= addressesMax) addresses.clear()
  addresses.set(url, address)
  return address
}

/** Headers in undici's cheapest form, by the object they come from: one for each provider. */
const headerLists = new WeakMap<object, string[]>()

function headerListOf(headers: ProviderCallRequest['headers']): string[] {
  const known = headerLists.get(headers)
  if (known !== undefined) return known
  const all = { 'accept-encoding': 'identity', 'content-type': 'application/json', ...headers }
  const list = Object.entries(all).flat()
  headerLists.set(headers, list)
  return list
}

/** undici does not know the length of a body in pieces. */
function headersFor({ headers, body }: ProviderCallRequest): string[] {
  if (body === null) return Object.entries({ 'accept-encoding': 'identity', ...headers }).flat()
  const list = headerListOf(headers)
  if (Buffer.isBuffer(body)) return list
  return [...list, 'content-length', String(body.reduce((sum, { length }) => sum + length, 0))]
}

/** How much of one answer is read in one turn of the event loop, in bytes: some 0.2 ms. */
const turnBytesMax = 64 * 1024
/** Fixed cost of any read, as bytes: a provider may send them one by one. */
const readCostBytes = 256

/** Answers that have had their turn, in the order in which they go on. */
const waiting: RunningCall[] = []

/** Lets a provider that sends faster than we read wait, one turn of the loop for each that does: all others come first. */
function awaitTurn(call: RunningCall): void {
  if (waiting.push(call) === 1) setImmediate(giveTurn)
}

function giveTurn(): void {
  waiting[0]?.goOn()
  waiting.shift() // only now: a call that waits again at once must not find an empty list
  if (waiting.length > 0) setImmediate(giveTurn)
}

/** One call from its start to its only end. */
class RunningCall implements Dispatcher.DispatchHandler, ProviderCall {
  readonly #request: ProviderCallRequest
  readonly #handler: ProviderCallHandler
  readonly #startedAtMs = performance.now()
  #controller: Dispatcher.DispatchController | undefined
  #phase: 'connecting' | 'waiting' | 'answering' | 'over' = 'connecting'
  #clock: NodeJS.Timeout | undefined
  #idleClock: SilenceClock | undefined
  #isPaused = false
  #awaitsTurn = false
  #turnBytes = 0
  #answerBytes = 0

  constructor(request: ProviderCallRequest, handler: ProviderCallHandler) {
    this.#request = request
    this.#handler = handler
  }

  /** Usually a connection is free, and there is nothing to wait for. */
  awaitConnection(): void {
    if (this.#phase === 'connecting')
      this.#clock = this.#startClock(this.#request.connectMs, 'connect_timeout')
  }

  pause(): void {
    if (this.#phase !== 'answering' || this.#isPaused) return
    this.#isPaused = true
    this.#stopClocks()
    this.#controller?.pause()
  }

  resume(): void {
    if (this.#phase !== 'answering' || !this.#isPaused) return
    this.#isPaused = false
    this.#noteRead()
    if (!this.#awaitsTurn) this.#controller?.resume()
  }

  goOn(): void {
    this.#awaitsTurn = false
    this.#turnBytes = 0
    if (this.#phase === 'answering' && !this.#isPaused) this.#controller?.resume()
  }

  cancel(): void {
    if (this.#phase === 'over') return
    this.#stop()
    this.#controller?.abort(new CallEnded())
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#phase === 'over') {
      controller.abort(new CallEnded())
      return
    }
    this.#phase = 'waiting'
    clearTimeout(this.#clock)
    const { firstByteMs } = this.#request
    if (firstByteMs === null) return
    const leftMs = firstByteMs - (performance.now() - this.#startedAtMs)
    this.#clock = this.#startClock(Math.max(leftMs, 1), 'first_byte_timeout')
  }

  onRequestSent(): void {
    if (this.#phase !== 'over') this.#handler.onSent?.()
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: AnswerHeaders): void {
    if (this.#phase === 'over' || status < 200) return
    this.#phase = 'answering'
    const encoding = headers['content-encoding'] ?? 'identity'
    if (status < 300 && encoding !== 'identity') this.#fail('answer_encoded')
    else
      try {
        this.#handler.onHeaders(status, headers)
      } catch (error) {
        this.#crash(error)
      }
  }

  onResponseData(_: Dispatcher.DispatchController, bytes: Buffer): void {
    if (this.#phase === 'over') return
    this.#answerBytes += bytes.length
    if (this.#answerBytes > this.#request.answerBytesMax) {
      this.#fail('answer_too_large')
      return
    }
    try {
      const heard = this.#handler.onData(bytes)
      // Data read before a pause took effect still arrives; the clock is stopped nevertheless.
      if (heard === 'something' && !this.#isPaused) this.#noteRead()
      this.#turnBytes += bytes.length + readCostBytes
      if (this.#turnBytes >= turnBytesMax) this.#awaitTurn()
    } catch (error) {
      this.#crash(error)
    }
  }

  onResponseEnd(): void {
    if (this.#phase === 'over') return
    this.#stop()
    try {
      this.#handler.onEnd()
    } catch (error) {
      this.#crash(error)
    }
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    if (this.#phase !== 'over') this.#fail(faultOf(error, this.#phase))
  }

  #awaitTurn(): void {
    if (this.#awaitsTurn || this.#phase === 'over') return
    this.#awaitsTurn = true
    this.#controller?.pause()
    awaitTurn(this)
  }

  #startClock(ms: number, fault: TransportFault): NodeJS.Timeout {
    return setTimeout(() => this.#fail(fault), ms)
  }

  #noteRead(): void {
    if (this.#idleClock !== undefined) {
      this.#idleClock.hear()
      return
    }
    clearTimeout(this.#clock)
    queueMicrotask(() => this.#listen()) // usually the end came with the data, and there is nothing to wait for
  }

  #listen(): void {
    if (this.#phase === 'answering' && !this.#isPaused)
      this.#idleClock ??= startSilenceClock(this.#request.idleMs, () => this.#fail('idle_timeout'))
  }

  #stopClocks(): void {
    clearTimeout(this.#clock)
    this.#idleClock?.stop()
    this.#idleClock = undefined
  }

  /** From here on undici's events are ignored. */
  #stop(): void {
    this.#phase = 'over'
    this.#stopClocks()
  }

  #fail(fault: TransportFault): void {
    this.cancel()
    try {
      this.#handler.onFault(fault)
    } catch (error) {
      this.#crash(error)
    }
  }

  /** undici would treat an error thrown by the handler as a connection error. */
  #crash(error: unknown): void {
    this.cancel()
    this.#handler.onCrash(error)
  }
}

/** Given to undici as the reason of an abort; no code reads it. */
class CallEnded extends Error {}

function faultOf(error: Error, phase: 'connecting' | 'waiting' | 'answering'): TransportFault {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  if (error.name === 'HTTPParserError' || code === 'UND_ERR_HEADERS_OVERFLOW') return 'bad_http'
  if (phase === 'answering') return 'cut'
  if (phase === 'waiting') return 'reset'
  if (code === 'ERR_ADDRESS_REFUSED') return 'address_refused'
  if (code === 'ERR_PROXY_UNREACHABLE') return 'proxy_unreachable'
  if (code === 'ERR_PROXY_REFUSED') return 'proxy_refused'
  if (code === 'ECONNREFUSED') return 'connect_refused'
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'dns_failed'
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT') return 'connect_timeout'
  return tlsCodes.test(code) ? 'tls_failed' : 'connect_failed'
}

const tlsCodes = /^(?:ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|EPROTO)/

/** Bytes of an answer, put together once it is whole. Bounded by the call's `answerBytesMax`. */
export function createBodyCollector(): { push(bytes: Buffer): void; text(): string } {
  const gathered = gatherPieces<Buffer>((parts) => Buffer.concat(parts))
  return {
    push: gathered.add,
    text: () => gathered.take().toString('utf8'),
  }
}
