import type { Target } from '../routing/attempt-plan.ts'
import { type Failure, failureOfFault, failureOfStatus } from '../upstream/failure.ts'
import { writeOpenAiRequest } from '../upstream/openai-request.ts'
import {
  type AnswerHeaders,
  createBodyCollector,
  type ProviderCall,
  type ProviderCallHandler,
  type ProviderCalls,
} from '../upstream/provider-call.ts'
import type { Run } from './run.ts'
import { readUsage, type UsageReading, usageBounds } from './usage.ts'

export type AttemptDeps = {
  readonly calls: ProviderCalls
  /** `performance.now`. */
  readonly now: () => number
  /** For a free connection to a provider, new or kept. */
  readonly connectMs: number
  /** Silence on a stream that had begun, after which a comment keeps idle balancers from closing it. */
  readonly keepAliveMs: number
  /** How long usage is waited for once the content was complete, or the client has left after that. */
  readonly usageGraceMs: number
  /** Counts the parameters that a provider was not sent. */
  readonly noteDropped: (provider: string, parameters: readonly string[]) => void
}

/** Largest plain answer, and largest stream, that is read from a provider: 64 MiB. */
const answerBytesMax = 64 * 1024 * 1024
/** How much of a provider's error body is read; its message is at the start. */
const errorBytesMax = 64 * 1024

/** What an attempt wants to hear of an answer with status 2xx, and of a call that came to nothing. */
export type AttemptHandler = Omit<ProviderCallHandler, 'onHeaders' | 'onFault'> & {
  readonly onAnswer: (headers: AnswerHeaders) => void
  readonly onFailure: (failure: Failure) => void
}

/**
 * Sends the request to `target`, whose answer must begin within `firstByteMs`; one with another status than 2xx
 * becomes a failure.
 */
export function callTarget(
  deps: AttemptDeps,
  run: Run,
  { route, backend }: Target,
  firstByteMs: number,
  handler: AttemptHandler,
): ProviderCall {
  const { timeouts } = route.document
  const { bytes, dropped, outputTokensMax } = writeOpenAiRequest({
    body: run.exchange.request,
    mode: run.exchange.request.stream === true ? 'stream' : 'plain',
    dialect: backend.dialect,
  })
  run.dropped = dropped
  run.outputTokensMax = outputTokensMax
  deps.noteDropped(backend.provider.name, dropped)
  const sentAtMs = deps.now()
  run.callSentAtMs = sentAtMs
  const noteEnd = () => {
    run.callSentAtMs = undefined
    run.upstreamMs += deps.now() - sentAtMs
  }
  let refused: { readonly status: number; readonly headers: AnswerHeaders } | undefined
  const refusal = createBodyCollector()
  let refusalBytes = 0
  const fail = ({ status, headers }: { status: number; headers: AnswerHeaders }) =>
    handler.onFailure(failureOfStatus({ status, headers, body: refusal.text(), nowMs: Date.now() }))

  return deps.calls.call(
    {
      url: backend.dialect.url,
      access: backend.provider.access,
      headers: { 'content-type': 'application/json', ...backend.provider.headers },
      body: bytes,
      connectMs: Math.min(deps.connectMs, firstByteMs),
      firstByteMs,
      idleMs: timeouts.streamIdleMs,
      answerBytesMax,
    },
    {
      onHeaders(status, headers) {
        if (status >= 200 && status < 300) handler.onAnswer(headers)
        else refused = { status, headers }
      },
      onData(data) {
        if (refused === undefined) return handler.onData(data)
        if (refusalBytes < errorBytesMax) refusal.push(data)
        refusalBytes += data.length
      },
      onEnd() {
        noteEnd()
        if (refused === undefined) handler.onEnd()
        else fail(refused)
      },
      onFault(fault) {
        noteEnd()
        if (refused === undefined) handler.onFailure(failureOfFault(fault))
        else fail(refused) // its status says more than how its body ended
      },
      onCrash: handler.onCrash,
    },
  )
}

/** What the provider's usage says, held against what this call can have used at most. */
export function readUsageOf(run: Run, target: Target, usage: unknown): UsageReading {
  const { request, bodyBytes, allText } = run.exchange
  const bounds = usageBounds({
    requestBytes: bodyBytes,
    allText,
    choices: request.n ?? 1,
    outputLimit: run.outputTokensMax,
    routeOutputMax: target.route.document.maxOutputTokens,
  })
  return readUsage(usage, bounds)
}
