import type { HeldBodies } from '../http/held-bodies.ts'
import type { ImageFetcher } from '../images/fetch-images.ts'
import type { Target } from '../routing/attempt-plan.ts'
import { type Failure, failureOfFault, failureOfStatus } from '../upstream/failure.ts'
import {
  type AnswerHeaders,
  createBodyCollector,
  type ProviderCall,
  type ProviderCallHandler,
  type ProviderCalls,
} from '../upstream/provider-call.ts'
import type { JsonBytes } from '../wire/json-writer.ts'
import type { OutputLimit } from './output-limit.ts'
import type { Run } from './run.ts'

export type AttemptDeps = {
  readonly calls: ProviderCalls
  /** `performance.now`. */
  readonly now: () => number
  /** For a free connection to a provider, new or kept. */
  readonly connectMs: number
  /** Silence on a stream that had begun, after which a comment keeps idle load balancers from closing it. */
  readonly keepAliveMs: number
  /** How long usage is waited for once the content was complete, or the client has left after that. */
  readonly usageGraceMs: number
  readonly outputLimit: OutputLimit
  /** For providers that take the bytes of images, and the memory that these take. */
  readonly images: { readonly fetcher: ImageFetcher; readonly held: HeldBodies }
  /** Counts the parameters that a provider was not sent. */
  readonly noteDropped: (provider: string, parameters: readonly string[]) => void
  /** Counts tools that a provider ran although the request may not use them. */
  readonly noteServerTools: (provider: string, tools: readonly string[]) => void
}

/** Largest non-streaming response, and largest stream, that is read from a provider: 64 MiB. */
const answerBytesMax = 64 * 1024 * 1024
/** How much of a provider's error body is read, in bytes: 64 KiB; its message is at the start. */
export const errorBytesMax = 64 * 1024

/** The events that an attempt handles: those of a response with status 2xx, and of a failed call. */
export type AttemptHandler = Omit<ProviderCallHandler, 'onSent' | 'onHeaders' | 'onFault'> & {
  readonly onAnswer: (headers: AnswerHeaders) => void
  readonly onFailure: (failure: Failure) => void
}

/**
 * The request to send, and how soon its response must begin; `null` if the caller cancels a slow one itself.
 */
export type Sending = WrittenCall & { readonly firstByteMs: number | null }

/** The body of a call, and where it goes if not to the usual address of its backend. */
export type WrittenCall = { readonly bytes: JsonBytes; readonly to?: CallPlace }

/** `headers`: in addition to those of the provider, which come first. `version`: the one that comes before the provider's. */
type CallPlace = {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly version?: Readonly<Record<string, string>> | undefined
}

/**
 * Sends `bytes` to `target`; an answer with another status than 2xx is a failure. From the moment when all of it is
 * sent the prompt is owed (`run.owedTo`), until the provider answers with an error.
 */
export function callTarget(
  deps: AttemptDeps,
  run: Run,
  { route, backend }: Target,
  { bytes, to, firstByteMs }: Sending,
  handler: AttemptHandler,
): ProviderCall {
  let refused: { readonly status: number; readonly headers: AnswerHeaders } | undefined
  const refusal = createBodyCollector()
  let refusalBytes = 0
  const fail = ({ status, headers }: { status: number; headers: AnswerHeaders }) =>
    handler.onFailure(failureOfStatus({ status, headers, body: refusal.text(), nowMs: Date.now() }))

  return deps.calls.call(
    {
      url: to?.url ?? backend.dialect.urls[run.exchange.mode],
      access: backend.provider.access,
      headers: headersOf(backend.provider.headers, to),
      body: bytes,
      connectMs: Math.min(deps.connectMs, firstByteMs ?? deps.connectMs),
      firstByteMs,
      idleMs: route.document.timeouts.streamIdleMs,
      answerBytesMax,
    },
    {
      onSent() {
        if (refused === undefined) run.owedTo = route // a large body may be rejected before all of it is sent
      },
      onHeaders(status, headers) {
        if (status >= 200 && status < 300) return handler.onAnswer(headers)
        run.owedTo = undefined
        refused = { status, headers }
      },
      onData(data) {
        if (refused === undefined) return handler.onData(data)
        if (refusalBytes < errorBytesMax) refusal.push(data)
        refusalBytes += data.length
        return 'something'
      },
      onEnd() {
        if (refused === undefined) handler.onEnd()
        else fail(refused)
      },
      onFault(fault) {
        if (refused === undefined) handler.onFailure(failureOfFault(fault))
        else fail(refused) // the status is more informative than how its body ended
      },
      onCrash: handler.onCrash,
    },
  )
}

/** The very object of the provider if nothing is added: its form for the connection is made only once. */
export function headersOf(
  own: Readonly<Record<string, string>>,
  to: Pick<CallPlace, 'headers' | 'version'> | undefined,
): typeof own {
  if (to === undefined || Object.keys({ ...to.headers, ...to.version }).length === 0) return own
  return { ...to.headers, ...own, ...to.version }
}

/** Notes what a provider was not sent. */
export function noteDropped(
  deps: AttemptDeps,
  run: Run,
  { backend }: Target,
  dropped: readonly string[],
): void {
  const extras = (run.exchange.dropped ?? [])
    .filter(({ name, isExtra }) => isExtra && backend.dialect.quirks.extrasRefused.includes(name))
    .map(({ name }) => name)
  run.dropped = extras.length === 0 ? dropped : [...dropped, ...extras]
  deps.noteDropped(backend.provider.name, run.dropped)
}

/** The time until `stop` is a provider's: it began with a call that is sent now. Stopping again does nothing. */
export function clockProvider(run: Run, now: () => number): { stop(): void } {
  const sentAtMs = now()
  run.callSentAtMs = sentAtMs
  let isStopped = false
  return {
    stop() {
      if (isStopped) return
      isStopped = true
      run.callSentAtMs = undefined
      run.upstreamMs += now() - sentAtMs
    },
  }
}
