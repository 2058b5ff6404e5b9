import type { Admitted, Hold, RateLimits } from '#cabinet/admission/admission-reply'
import type { Price } from '#cabinet/ledger/price'
import type { Attempt, RequestRecord } from '#cabinet/ledger/request-record'
import type { Progress } from '../charges/open-requests.ts'
import type { AnswerFacts } from '../http/answer.ts'
import { type Departure, watchDeparture } from '../http/departure.ts'
import type { Target } from '../routing/attempt-plan.ts'
import type { Route } from '../routing/route-table.ts'
import { type Delivered, deliveredTokensOf } from './delivered-text.ts'
import type { Exchange } from './exchange.ts'
import { type Bill, billOf, nothingDelivered, nothingDue } from './internal/bill.ts'

/** Attempts that a record keeps; more are made only by a route with many fallbacks. */
const recordedAttemptsMax = 32

/** What of a request's prompt is paid for, estimated and taken apart. */
export type SentPrompt = Pick<Exchange, 'estimatePrompt' | 'readPrompt'>

/** One admitted request on its way: all that changes about it, in one place. Times are `performance.now()`. */
export type Run = {
  readonly exchange: Exchange
  readonly hold: Hold
  readonly limits: RateLimits
  readonly departure: Departure
  /** As the caller or the route says it: how long its client waits. */
  readonly timeoutMs: number
  readonly deadlineAtMs: number
  /** How long an answer is read, with its client or without: as the route says it. */
  readonly readingEndsAtMs: number
  /** How a request ends that nobody waits for any more. */
  leftAs: RecordedEnding
  readonly attempts: Attempt[]
  /** The one under way included. */
  attemptCount: number
  /** Parameters that the last target was not sent, as many as are named. */
  dropped: readonly string[]
  /** Output tokens of one answer that this gateway sets, by route; a route of which the request's own limit counts has none. */
  readonly outputLimits: ReadonlyMap<Route, number>
  /** The one of these that the last target was sent. */
  outputLimit: number | null
  /** Output tokens that the last target was told to stop at, per answer, whoever set that. */
  outputTokensMax: number | null
  /** The part of the prompt that was sent, which is all of it but for embeddings in several calls. */
  prompt: SentPrompt
  /** The route whose provider answered 2xx, from then on. */
  ran: Route | undefined
  /** The route whose provider has the whole prompt and has said nothing against it: who breaks off now owes that prompt. */
  owedTo: Route | undefined
  /** What was delivered of a stream, measured as it goes. */
  delivered: Delivered | undefined
  firstContentAtMs: number | undefined
  /** How long after the call that was answered; of a stream. */
  firstChunkMs: number | undefined
  /** Time that calls of providers took; the rest is ours. */
  upstreamMs: number
  /** When the call under way was sent. */
  callSentAtMs: number | undefined
}

/** How long a request may take: as its caller says, at most as long as the route of the model asked for allows. */
function timeoutOf({ options, candidates: [{ route }] }: Exchange): number {
  return Math.min(options.timeoutMs ?? Number.POSITIVE_INFINITY, route.document.timeouts.requestMs)
}

/** How long a provider's answer may take, whoever waits for it. */
export function readingTimeOf({ candidates: [{ route }] }: Exchange): number {
  return route.document.timeouts.requestMs
}

/**
 * Whether closing the connection to `target` ends both the generation and its bill: then nobody has to read what nobody waits
 * for. Only where the provider's row says so, and the route that its model does not reason unseen.
 */
export function stopsWhenClosed({ exchange }: Run, { route, backend }: Target): boolean {
  const { stopsWhenClosed } = backend.dialect.quirks
  if (stopsWhenClosed === undefined || route.document.hiddenReasoning) return false
  return stopsWhenClosed === 'always' || exchange.mode === 'stream'
}

/** A request that was just admitted. */
export function startRun(exchange: Exchange, admitted: Admitted): Run {
  const timeoutMs = timeoutOf(exchange)
  return {
    exchange,
    hold: admitted.hold,
    limits: admitted.limits,
    departure: watchDeparture(exchange.raw),
    timeoutMs,
    deadlineAtMs: exchange.startedAtMs + timeoutMs,
    readingEndsAtMs: exchange.startedAtMs + readingTimeOf(exchange),
    leftAs: clientGone,
    attempts: [],
    attemptCount: 0,
    dropped: [],
    outputLimits: outputLimitsOf(exchange, admitted),
    outputLimit: null,
    outputTokensMax: null,
    prompt: exchange,
    ran: undefined,
    owedTo: undefined,
    delivered: undefined,
    firstContentAtMs: undefined,
    firstChunkMs: undefined,
    upstreamMs: 0,
    callSentAtMs: undefined,
  }
}

function outputLimitsOf(exchange: Exchange, { allowed }: Admitted): ReadonlyMap<Route, number> {
  const limits = new Map<Route, number>()
  for (const { index, outputLimit } of allowed) {
    const route = exchange.candidates[index]?.route
    if (route !== undefined && outputLimit !== null) limits.set(route, outputLimit)
  }
  return limits
}

/**
 * The most that is billed of what ran, all choices together: never more than is held for it. Of output that is what its
 * provider was told to stop at, else what the model can write. `null`: no bound, or nothing ran.
 */
export function billedMaxOf({ exchange, ran, outputTokensMax }: Run): {
  readonly promptTokensMax: number | null
  readonly outputTokensMax: number | null
} {
  if (ran === undefined) return { promptTokensMax: null, outputTokensMax: null }
  const candidate = exchange.candidates.find(({ route }) => route === ran)
  const perChoice = outputTokensMax ?? ran.document.maxOutputTokens ?? candidate?.output.limit ?? null
  return {
    promptTokensMax: candidate?.promptTokensMax ?? null,
    outputTokensMax: perChoice === null ? null : exchange.choices * perChoice,
  }
}

/** Price of what ran; `null` where nothing ran or it is free. */
export function priceOf(run: Run): Price | null {
  return run.ran?.document.price ?? null
}

/** What a request would be charged if this gateway died now: nothing before the first content. */
export function progressOf(run: Run, nowMs: number): Progress {
  const bill =
    run.firstContentAtMs === undefined
      ? nothingDue
      : billOf(
          {
            kind: 'upstream_cut',
            usage: { kind: 'missing' },
            estimatePrompt: run.exchange.estimatePrompt,
            delivered: run.delivered === undefined ? nothingDelivered : deliveredTokensOf(run.delivered),
            ...billedMaxOf(run),
          },
          priceOf(run),
        )
  return { costNano: bill.costNano, record: recordOf(run, bill, sweptEnding, nowMs) }
}

/** What the headers of an answer say about a run. */
export function factsOf(run: Run, nowMs: number): AnswerFacts {
  const { requestId } = run.exchange
  return {
    requestId,
    limits: run.limits,
    attempts: run.attemptCount,
    droppedParameters: run.dropped,
    overheadMs: overheadOf(run, nowMs),
    ...(run.outputLimit === null ? {} : { outputLimit: run.outputLimit }),
    ...(run.ran === undefined ? {} : { model: run.ran.document.model }),
  }
}

/** Milliseconds of a run that no provider's call took. */
export function overheadOf(run: Run, nowMs: number): number {
  return (run.callSentAtMs ?? nowMs) - run.exchange.startedAtMs - run.upstreamMs
}

/** Its client disconnected. */
const clientGone: RecordedEnding = { outcome: 'client_gone', status: 499, errorCode: null }

/** How a request ended, as its record says it. */
export type RecordedEnding = Pick<RequestRecord, 'outcome' | 'status' | 'errorCode'>

const sweptEnding: RecordedEnding = { outcome: 'swept', status: 499, errorCode: null }

/** The record of a request that ended with `ending`. */
export function recordOf(run: Run, bill: Bill, ending: RecordedEnding, nowMs: number): RequestRecord {
  const { exchange } = run
  const sinceStart = (atMs: number) => Math.max(0, Math.round(atMs - exchange.startedAtMs))
  return {
    endpoint: exchange.endpoint,
    modelAsked: exchange.request.model,
    modelRan: run.ran?.document.model ?? null,
    ...ending,
    stream: exchange.mode === 'stream',
    priceId: priceOf(run)?.id ?? null,
    tokens: bill.tokens,
    usageSource: bill.usageSource,
    attempts: run.attempts.slice(-recordedAttemptsMax),
    droppedParameters: [...run.dropped],
    outputLimit: run.outputLimit,
    firstContentMs: run.firstContentAtMs === undefined ? null : sinceStart(run.firstContentAtMs),
    totalMs: sinceStart(nowMs),
  }
}

/** The record that is held while nothing is known yet: what a sweep books for a gateway that died at once. */
export function recordBeforeStart(exchange: Exchange): RequestRecord {
  return {
    endpoint: exchange.endpoint,
    modelAsked: exchange.request.model,
    modelRan: null,
    ...sweptEnding,
    stream: exchange.mode === 'stream',
    priceId: null,
    tokens: nothingDue.tokens,
    usageSource: 'none',
    attempts: [],
    droppedParameters: [],
    outputLimit: null,
    firstContentMs: null,
    totalMs: 0,
  }
}
