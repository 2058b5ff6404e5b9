import type { Admitted, Hold, RateLimits } from '#core/admission/admission-reply'
import type { Price } from '#core/ledger/price'
import type { Attempt, RequestRecord } from '#core/ledger/request-record'
import type { Progress } from '../charges/open-requests.ts'
import type { AnswerFacts } from '../http/answer.ts'
import type { Departure } from '../http/departure.ts'
import type { RequestImages } from '../images/request-images.ts'
import type { Target } from '../routing/attempt-plan.ts'
import type { Route } from '../routing/route-table.ts'
import { type Delivered, deliveredTokensOf } from './delivered-text.ts'
import type { Exchange } from './exchange.ts'
import { type Bill, billOf, nothingDelivered, nothingDue } from './internal/bill.ts'

/** Attempts that a record keeps; more are made only by a route with many fallbacks. */
const recordedAttemptsMax = 32

/** The parts of a request's prompt that are paid for, estimated and taken apart. */
export type SentPrompt = Pick<Exchange, 'estimatePrompt' | 'readPrompt'>

/** One admitted request on its way: all that changes about it, in one place. Times are `performance.now()`. */
export type Run = {
  readonly exchange: Exchange
  readonly hold: Hold
  /** How long the answer to `admit` took, with all its tries. */
  readonly admitMs: number
  readonly limits: RateLimits
  readonly departure: Departure
  /** How long its client waits, as set by the caller or the route. */
  readonly timeoutMs: number
  readonly deadlineAtMs: number
  /** How long a response is read, with or without its client, as set by the route. */
  readonly readingEndsAtMs: number
  /** The recorded ending of a request that no client waits for anymore. */
  leftAs: RecordedEnding
  readonly attempts: Attempt[]
  /** The one under way included. */
  attemptCount: number
  /** Images that were fetched for it; none until one is needed. */
  images: RequestImages | undefined
  /** Parameters that the last target was not sent, as many as are named. */
  dropped: readonly string[]
  /** The last target was sent the client's own request, and `dropped` is all that it was not sent. */
  isRelayed: boolean
  /**
   * Output token limits per answer that this gateway sets, by route; a route that uses the request's own
   * limit has none.
   */
  readonly outputLimits: ReadonlyMap<Route, number>
  /** The one of these that the last target was sent. */
  outputLimit: number | null
  /** Output token limit sent to the last target, per answer, from any source. */
  outputTokensMax: number | null
  /** The part of the prompt that was sent, which is all of it but for embeddings in several calls. */
  prompt: SentPrompt
  /** The route whose provider answered 2xx, from then on. */
  ran: Route | undefined
  /**
   * The route whose provider has received the whole prompt and has not rejected it. A client that disconnects
   * now owes that prompt.
   */
  owedTo: Route | undefined
  /** The delivered part of a stream, measured as it goes. */
  delivered: Delivered | undefined
  firstContentAtMs: number | undefined
  /** How long after the call that was answered; of a stream. */
  firstChunkMs: number | undefined
  /** Time that calls of providers took; the rest is the gateway's overhead. */
  upstreamMs: number
  /** When the call under way was sent. */
  callSentAtMs: number | undefined
}

/** How long a request may take: the caller's limit, at most that of the requested model's route. */
function timeoutOf({ options, candidates: [{ route }] }: Exchange): number {
  return Math.min(options.timeoutMs ?? Number.POSITIVE_INFINITY, route.document.timeouts.requestMs)
}

/** Until when a provider's response is read, with or without its client. */
export function readingEndsAtMsOf({ startedAtMs, candidates: [{ route }] }: Exchange): number {
  return startedAtMs + route.document.timeouts.requestMs
}

/**
 * Whether closing the connection to `target` ends both the generation and its bill. Then an abandoned
 * response need not be read. True only if the provider's row and the route both allow it: the model must not
 * reason unseen.
 */
export function stopsWhenClosed({ exchange }: Run, { route, backend }: Target): boolean {
  const { stopsWhenClosed } = backend.dialect.quirks
  if (stopsWhenClosed === undefined || route.document.hiddenReasoning) return false
  return stopsWhenClosed === 'always' || exchange.mode === 'stream'
}

/** A request that was just admitted. */
export function startRun(
  exchange: Exchange,
  admitted: Admitted & Pick<Run, 'admitMs'>,
  departure: Departure,
): Run {
  const timeoutMs = timeoutOf(exchange)
  return {
    exchange,
    hold: admitted.hold,
    admitMs: admitted.admitMs,
    limits: admitted.limits,
    departure,
    timeoutMs,
    deadlineAtMs: exchange.startedAtMs + timeoutMs,
    readingEndsAtMs: readingEndsAtMsOf(exchange),
    leftAs: clientGone,
    attempts: [],
    attemptCount: 0,
    images: undefined,
    dropped: [],
    isRelayed: false,
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
 * The most that is billed for this run, all choices together: never more than is held for it. The output
 * bound is the limit sent to its provider, or the most that the model can write. `null`: no bound, or nothing
 * ran.
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

/** The charge for a request if this gateway died now: nothing before the first content. */
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

/** The facts about a run in the headers of a response. */
export function factsOf(run: Run, nowMs: number): AnswerFacts {
  const { requestId } = run.exchange
  return {
    requestId,
    limits: run.limits,
    attempts: run.attemptCount,
    droppedParameters: droppedOf(run),
    overheadMs: overheadOf(run, nowMs),
    ...(run.outputLimit === null ? {} : { outputLimit: run.outputLimit }),
    ...(run.ran === undefined ? {} : { model: run.ran.document.model }),
  }
}

/** What no provider gets, and what the last one did not get, by the client's names. */
function droppedOf({ exchange, dropped, isRelayed }: Run): readonly string[] {
  if (isRelayed || (dropped.length === 0 && exchange.dropped === undefined)) return dropped
  const before = (exchange.dropped ?? []).filter(({ isExtra }) => !isExtra).map(({ name }) => name)
  return [...new Set([...before, ...dropped.map(exchange.format.parameterOf)])]
}

/** Milliseconds of a run that no provider's call took. */
export function overheadOf(run: Run, nowMs: number): number {
  return (run.callSentAtMs ?? nowMs) - run.exchange.startedAtMs - run.upstreamMs
}

/** Its client disconnected. */
const clientGone: RecordedEnding = { outcome: 'client_gone', status: 499, errorCode: null }

/** How a request ended, as its record shows it. */
export type RecordedEnding = Pick<RequestRecord, 'outcome' | 'status' | 'errorCode'>

const sweptEnding: RecordedEnding = { outcome: 'swept', status: 499, errorCode: null }

/** The record of a request that ended with `ending`. */
export function recordOf(run: Run, bill: Bill, ending: RecordedEnding, nowMs: number): RequestRecord {
  const { exchange } = run
  const sinceStart = (atMs: number) => Math.max(0, Math.round(atMs - exchange.startedAtMs))
  return {
    endpoint: exchange.endpoint,
    ...apiFormatOf(exchange),
    modelAsked: exchange.request.model,
    modelRan: run.ran?.document.model ?? null,
    ...ending,
    stream: exchange.mode === 'stream',
    priceId: priceOf(run)?.id ?? null,
    tokens: bill.tokens,
    usageSource: bill.usageSource,
    attempts: run.attempts.slice(-recordedAttemptsMax),
    droppedParameters: [...droppedOf(run)],
    outputLimit: run.outputLimit,
    firstContentMs: run.firstContentAtMs === undefined ? null : sinceStart(run.firstContentAtMs),
    totalMs: sinceStart(nowMs),
  }
}

function apiFormatOf({ format: { name } }: Exchange): Pick<RequestRecord, 'apiFormat'> {
  return name === 'chat_completions' ? {} : { apiFormat: name }
}

/** The record that is held before anything is known: a sweep posts it if a gateway dies at once. */
export function recordBeforeStart(exchange: Exchange): RequestRecord {
  return {
    endpoint: exchange.endpoint,
    ...apiFormatOf(exchange),
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
