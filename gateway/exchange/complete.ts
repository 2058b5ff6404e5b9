import type { Admission } from '#core/admission/admission'
import type { AdmitRefusal, Admitted, Hold, Settled } from '#core/admission/admission-reply'
import type { Refusal } from '#core/errors/refusal'
import { formatRub, nanoRub } from '#core/ledger/money'
import type { RequestRecord } from '#core/ledger/request-record'
import { RedisUnavailable } from '#core/redis/redis-connection'
import type { BookedAnswer, ChargeKeeper } from '../charges/charge-keeper.ts'
import { documented, sendPlain, sendRefusal } from '../http/answer.ts'
import type { ConnectionShare } from '../http/connection-share.ts'
import { type Departure, watchDeparture } from '../http/departure.ts'
import { limitsShown, type Refused } from '../http/key-first.ts'
import type { ExchangeReport } from '../http/request-end.ts'
import { endOfRefusal, leftUnadmitted } from '../http/request-end.ts'
import type { AttemptGate } from '../routing/attempt-gate.ts'
import type { Failure } from '../upstream/failure.ts'
import { chargeUnconfirmed, refusalFor, serviceUnavailable, tooManyAbandoned } from '../wire/errors.ts'
import type { OpenAiUsage } from '../wire/openai-usage.ts'
import { whenDone } from '../wire/turns.ts'
import { requestTimedOut, streamCut, streamTimedOut } from '../wire/upstream-errors.ts'
import type { AbandonedRequests } from './abandoned-requests.ts'
import type { MakeBill } from './billing.ts'
import { createDelivered, type Generated } from './delivered-text.ts'
import type { BoundExchange, CompleteExchange, Exchange } from './exchange.ts'
import { type Bill, nothingDue, totalOf } from './internal/bill.ts'
import { postedUntilMs } from './internal/posted-until.ts'
import { type OutputLimit, tokensOfTexts } from './output-limit.ts'
import {
  factsOf,
  overheadOf,
  progressOf,
  type RecordedEnding,
  type Run,
  readingEndsAtMsOf,
  recordBeforeStart,
  recordOf,
  startRun,
} from './run.ts'
import { type MakeAttempt, serve } from './serve.ts'
import type { Served } from './served.ts'
import { openAiUsageOf, type UsageReading } from './usage.ts'

export type CompleteDeps = {
  readonly admission: Admission
  readonly keeper: ChargeKeeper
  readonly share: Pick<ConnectionShare, 'take'>
  readonly attempt: MakeAttempt
  readonly bill: MakeBill
  readonly outputLimit: OutputLimit
  readonly abandoned: AbandonedRequests
  readonly gate: AttemptGate
  /** `performance.now`. */
  readonly now: () => number
  readonly random: () => number
}

/** The use case of every model call: admit → attempt → forward → settle → last byte. See docs/contribute/life-of-a-request.md. */
export function createComplete(deps: CompleteDeps): CompleteExchange {
  return async (asked) => {
    const departure = watchDeparture(asked.raw, asked.format.keepAlive)
    try {
      const { exchange, answer } = await admit(deps, asked, departure)
      if (answer.outcome === 'left') return leftUnadmitted
      if (answer.outcome === 'refused') return refuse(exchange, answer)
      return await completeAdmitted(deps, exchange, answer, departure)
    } finally {
      departure.release()
    }
  }
}

async function completeAdmitted(
  deps: CompleteDeps,
  measured: Exchange,
  answer: Extract<AdmitEnd, { outcome: 'admitted' }>,
  departure: Departure,
): Promise<ExchangeReport> {
  const bound = bindTo(measured, answer)
  const exchange = bound instanceof Promise ? await bound : bound // a small one does not wait for others
  const run = startRun(exchange, answer, departure)
  const endAbandoned = followAbandoned(deps, run)
  deps.keeper.track({ hold: run.hold, progress: () => progressOf(run, deps.now()) })
  const routes = answer.allowed.flatMap(({ index }) => exchange.candidates[index]?.route ?? [])
  try {
    const excess = deps.share.take(exchange.raw.req, run.hold.organizationId)
    if (excess !== undefined) return await endUnanswered(deps, run, excess)
    return await end(deps, run, await serve(run, routes, deps))
  } catch (error) {
    deps.keeper.abandon(run.hold) // a bug must not hold money for as long as this replica lives
    throw error
  } finally {
    endAbandoned()
    run.images?.release()
  }
}

/** The exchange as the organization has it that pays for it. */
function bindTo(exchange: Exchange, { hold, keepsResponsesHours }: Admitted): Exchange | Promise<Exchange> {
  if (exchange.endpoint !== 'chat' || exchange.bindTo === undefined) return exchange
  const { organizationId, keyId } = hold
  const bound = exchange.bindTo({ organizationId, keyId, keepsResponsesHours })
  return whenDone(bound, (chat) => boundBy(exchange, chat))
}

function boundBy(
  exchange: Extract<Exchange, { endpoint: 'chat' }>,
  { findSigned, ...chat }: BoundExchange,
): Exchange {
  const { own } = exchange
  const decryptable = own === undefined || findSigned === undefined ? {} : { own: { ...own, findSigned } }
  return { ...exchange, ...chat, ...decryptable }
}

/**
 * Watches for a client that disconnects or whose time is up. The latter gets an error. In both cases the
 * provider's response is read to its end without the client. Call the returned function when the request is
 * over.
 */
function followAbandoned(deps: CompleteDeps, run: Run): () => void {
  const { exchange, departure } = run
  let end: (() => void) | undefined
  const stay = departure.onLeave(() => {
    end = deps.abandoned.begin(exchange.caller.secretHash, exchange.bodyBytes)
  })
  const waitMs = run.deadlineAtMs - deps.now()
  const timer = run.deadlineAtMs < run.readingEndsAtMs ? setTimeout(giveUp, waitMs, deps, run) : undefined
  return () => {
    clearTimeout(timer)
    stay()
    end?.()
  }
}

/** A provider that was sent nothing has nothing to be waited for: then the loop over attempts ends the request itself. */
function giveUp(deps: CompleteDeps, run: Run): void {
  const { raw, format, requestId } = run.exchange
  if (run.owedTo === undefined || run.departure.hasLeft()) return
  const hasBegun = run.firstContentAtMs !== undefined
  const refusal = hasBegun ? streamTimedOut : requestTimedOut(run.attemptCount, run.timeoutMs, 'answer')
  run.leftAs = {
    outcome: hasBegun ? 'upstream_cut' : 'failed',
    status: hasBegun ? 200 : refusal.status,
    errorCode: refusal.code,
  }
  run.departure.giveUp() // what was written of a stream leaves first
  if (hasBegun) raw.end(format.writeStreamError(documented(raw, refusal), requestId))
  else sendRefusal(raw, refusal, factsOf(run, deps.now()), format)
}

function end(
  deps: CompleteDeps,
  run: Run,
  served: Awaited<ReturnType<typeof serve>>,
): Promise<ExchangeReport> {
  if (served.kind === 'exhausted') return endUnanswered(deps, run, served.refusal)
  if (served.kind === 'plain') return endPlain(deps, run, served)
  if (served.kind === 'streamed') return endStreamed(deps, run, served)
  return endLeft(deps, run)
}

type AdmitEnd =
  | ({ readonly outcome: 'admitted'; readonly admitMs: number } & Admitted)
  | ({ readonly outcome: 'refused' } & Refused)
  | { readonly outcome: 'left' }

/**
 * One call to Redis, with the free bound of the prompt. Only if that bound exceeds the limits of the key and
 * its organization is the prompt measured, and a second call made.
 */
async function admit(
  deps: CompleteDeps,
  exchange: Exchange,
  departure: Departure,
): Promise<{ readonly exchange: Exchange; readonly answer: AdmitEnd }> {
  const { measureCandidates } = exchange
  if (measureCandidates === null)
    return { exchange, answer: await admitOnce(deps, exchange, departure, 'final') }
  const answer = await admitOnce(deps, exchange, departure, 'bound')
  if (answer !== 'too_large') return { exchange, answer }
  const candidates = (await measureCandidates()) ?? exchange.candidates
  const measured = { ...exchange, candidates }
  return { exchange: measured, answer: await admitOnce(deps, measured, departure, 'final') }
}

/** Rejections that a smaller request would not have got. */
const refusalsOfSize: ReadonlySet<AdmitRefusal['reason']> = new Set([
  'request_exceeds_balance',
  'request_exceeds_budget',
  'request_too_large_for_tpm',
  'balance_reserved',
  'budget_reserved',
  'tpm',
])

/** `bound`: the request can be made smaller by measuring it, which is the answer `too_large`; nothing is noted of it. */
async function admitOnce(
  deps: CompleteDeps,
  exchange: Exchange,
  departure: Departure,
  attempt: 'final',
): Promise<AdmitEnd>
async function admitOnce(
  deps: CompleteDeps,
  exchange: Exchange,
  departure: Departure,
  attempt: 'final' | 'bound',
): Promise<AdmitEnd | 'too_large'>
async function admitOnce(
  deps: CompleteDeps,
  exchange: Exchange,
  departure: Departure,
  attempt: 'final' | 'bound',
): Promise<AdmitEnd | 'too_large'> {
  const { requestId, caller, candidates } = exchange
  if (deps.keeper.isFull()) return { outcome: 'refused', refusal: serviceUnavailable }
  if (deps.abandoned.mustWait(caller.secretHash)) return { outcome: 'refused', refusal: tooManyAbandoned }
  const record = recordBeforeStart(exchange)
  const sentAtMs = deps.now()
  try {
    const answer = await deps.admission.admit({
      requestId,
      ...caller,
      candidates: candidates.map((candidate) => ({ ...candidate, model: candidate.route.document.model })),
      record,
      timeoutMs: Math.floor(readingEndsAtMsOf(exchange) - sentAtMs),
      attempt,
      hasLeft: departure.hasLeft,
    })
    if (answer.outcome === 'admitted') return { ...answer, admitMs: deps.now() - sentAtMs }
    if (answer.reason === 'withdrawn') return { outcome: 'left' }
    if (attempt === 'bound' && refusalsOfSize.has(answer.reason)) return 'too_large'
    return {
      outcome: 'refused',
      refusal: refusalFor(answer, {
        model: exchange.request.model,
        type: candidates[0].route.document.type,
        outside: exchange.content.outside,
      }),
      key: answer.key,
      isListed: answer.reason !== 'unavailable' && answer.reason !== 'ip_not_allowed',
    }
  } catch (error) {
    if (!(error instanceof RedisUnavailable)) throw error
    // The request may have been admitted nevertheless: its hold will not be used.
    const neverStarted = { ...record, outcome: 'never_started', status: 503 } as const
    void deps.keeper.release(unseenHold(requestId, caller.shard), neverStarted)
    return { outcome: 'refused', refusal: serviceUnavailable }
  }
}

/** A hold of which only the id is known; Redis has the rest, if it made the hold. */
function unseenHold(requestId: string, shard: Hold['shard']): Hold {
  const owner = { organizationId: '', keyId: '', owners: '-' }
  const unknown = { ...owner, day: 0, second: 0, holdNano: 0n, tokens: 0, deadlineMs: 0 }
  return { requestId, shard, ...unknown }
}

function refuse({ requestId, raw, format }: Exchange, refused: Refused): ExchangeReport {
  sendRefusal(raw, refused.refusal, { requestId, ...limitsShown(refused) }, format)
  return endOfRefusal(refused)
}

/** How a request ended and what it costs: everything that is posted, logged and counted. */
type Conclusion = { readonly bill: Bill; readonly record: RequestRecord }

function conclude(deps: CompleteDeps, run: Run, bill: Bill, ending: RecordedEnding): Conclusion {
  return { bill, record: recordOf(run, bill, ending, deps.now()) }
}

/** No provider answered: the hold goes back. The prompt is charged only where its caller gave a provider that had it too little time. */
async function endUnanswered(deps: CompleteDeps, run: Run, refusal: Refusal): Promise<ExchangeReport> {
  const { raw, format } = run.exchange
  const outcome = refusal.status === 400 ? 'refused_upstream' : 'failed'
  const ending = { outcome, status: refusal.status, errorCode: refusal.code } as const
  if (run.owedTo === undefined) {
    const report = await release(deps, run, ending)
    sendRefusal(raw, refusal, { ...factsOf(run, deps.now()), costNano: 0n }, format)
    return report
  }
  const { report, settled } = await chargePrompt(deps, run, { kind: 'out_of_time', ending })
  if (settled === undefined) return sendUnsettled(deps, run)
  sendRefusal(raw, refusal, { ...factsOf(run, deps.now()), costNano: settled.costNano }, format)
  return report
}

/** The client left before a provider had answered: the prompt is charged where a provider had it. */
async function endLeft(deps: CompleteDeps, run: Run): Promise<ExchangeReport> {
  if (run.owedTo === undefined) return release(deps, run, run.leftAs)
  return (await chargePrompt(deps, run, { kind: 'client_gone', ending: run.leftAs })).report
}

async function release(deps: CompleteDeps, run: Run, ending: RecordedEnding): Promise<ExchangeReport> {
  const conclusion = conclude(deps, run, nothingDue, ending)
  await deps.keeper.release(run.hold, conclusion.record)
  return reportOf(run, conclusion)
}

/** Providers bill a prompt that they received, even if the client no longer waits for the response. */
async function chargePrompt(
  deps: CompleteDeps,
  run: Run,
  { kind, ending }: { readonly kind: 'client_gone' | 'out_of_time'; readonly ending: RecordedEnding },
): Promise<{ readonly report: ExchangeReport; readonly settled: Settled | undefined }> {
  run.ran = run.owedTo
  const bill = await deps.bill(run, { kind, usage: { kind: 'missing' } }, createDelivered)
  const conclusion = conclude(deps, run, bill, ending)
  const settled = await book(deps, run, conclusion, plainAnswer(deps, run))
  return { report: reportOf(run, conclusion), settled }
}

async function endPlain(
  deps: CompleteDeps,
  run: Run,
  { answer, usage }: Extract<Served, { kind: 'plain' }>,
): Promise<ExchangeReport> {
  const { raw } = run.exchange
  if (answer === null || run.departure.hasLeft()) {
    const generated = answer?.generated
    const bill = await deps.bill(run, { kind: 'client_gone', usage }, () => createDelivered(generated))
    const conclusion = conclude(deps, run, bill, run.leftAs)
    await book(deps, run, conclusion, { kind: 'streamed' }) // no client waits for a different result
    return reportOf(run, conclusion)
  }
  const share = await shareWithinLimit(deps, run, answer.generated)
  const bill = await deps.bill(run, { kind: 'complete', usage }, () => createDelivered(answer.generated))
  const conclusion = conclude(deps, run, bill, completed)
  const write = (costNano: bigint) =>
    answer.write(shownUsageOf(usage, bill), formatRub(nanoRub(costNano)), share)
  const json = write(bill.costNano) // first, since an answer that cannot be written is not charged
  const settled = await book(deps, run, conclusion, plainAnswer(deps, run))
  if (settled === undefined) return sendUnsettled(deps, run)
  const { costNano } = settled
  const shown = costNano === bill.costNano ? json : write(costNano)
  const { keep } = run.exchange.format
  sendPlain(raw, keep === undefined ? shown : await keep(shown, run.exchange.requestId), {
    ...factsOf(run, deps.now()),
    costNano,
  })
  return reportOf(run, conclusion)
}

/** The part of a whole answer that is within its limit. Nearly all are so short that they need not be looked at. */
async function shareWithinLimit(
  { outputLimit }: CompleteDeps,
  run: Run,
  generated: Generated,
): Promise<number> {
  const suspectAbove = outputLimit.suspectAbove(run)
  if (generated.output.length + generated.reasoning.length <= suspectAbove) return 1
  const delivered = createDelivered(generated)
  return tokensOfTexts(delivered) <= suspectAbove ? 1 : (await outputLimit.check(run, delivered)).share
}

/** Redis remained unavailable: the charge buffer has a correction to 0, and the client gets an error. */
function sendUnsettled(deps: CompleteDeps, run: Run): ExchangeReport {
  const { raw, format } = run.exchange
  sendRefusal(raw, serviceUnavailable, { ...factsOf(run, deps.now()), costNano: 0n }, format)
  return reportOf(run, conclude(deps, run, nothingDue, unsettled))
}

async function endStreamed(
  deps: CompleteDeps,
  run: Run,
  { ending, cutBy, usage, writeEnd, keep }: Extract<Served, { kind: 'streamed' }>,
): Promise<ExchangeReport> {
  const { raw, format, requestId } = run.exchange
  const refusal = cutBy === null || ending === 'client_gone' ? undefined : refusalOfCut(cutBy)
  // A broken answer has no last byte to hold back.
  if (refusal !== undefined) raw.end(format.writeStreamError(documented(raw, refusal), requestId))
  const bill = await deps.bill(run, { kind: ending, usage }, () => run.delivered ?? createDelivered())
  const recorded =
    ending === 'client_gone' ? run.leftAs : { ...streamEndings[ending], errorCode: refusal?.code ?? null }
  const conclusion = conclude(deps, run, bill, recorded)
  const settled = await book(deps, run, conclusion, { kind: 'streamed' })
  if (ending !== 'complete') return reportOf(run, conclusion)
  // If Redis stayed unavailable the charge remains nevertheless: all content was delivered.
  if (settled === undefined) raw.end(format.writeStreamError(documented(raw, chargeUnconfirmed), requestId))
  else {
    const shown = [shownUsageOf(usage, bill), formatRub(nanoRub(settled.costNano))] as const
    if (keep !== undefined) await keep(...shown)
    raw.end(writeEnd(...shown))
  }
  return reportOf(run, conclusion)
}

const completed: RecordedEnding = { outcome: 'completed', status: 200, errorCode: null }
const unsettled: RecordedEnding = { outcome: 'unsettled', status: 503, errorCode: 'service_unavailable' }
const streamEndings = {
  complete: completed,
  upstream_cut: { outcome: 'upstream_cut', status: 200, errorCode: null },
} as const satisfies Record<string, RecordedEnding>

function refusalOfCut({ kind }: Failure): Refusal {
  return kind === 'timeout' ? streamTimedOut : streamCut
}

/** The provider's own usage if it is trusted, with all its details; else what was billed. */
function shownUsageOf(usage: UsageReading, bill: Bill): OpenAiUsage {
  const isBilled = bill.usageSource === 'provider' && bill.cut.length === 0
  return usage.kind === 'reported' && isBilled ? usage.openai : openAiUsageOf(bill.tokens)
}

function plainAnswer({ keeper, now }: CompleteDeps, { hold, admitMs, readingEndsAtMs }: Run): BookedAnswer {
  const { deadlineMs } = hold
  const { patienceMs } = keeper
  return {
    kind: 'plain',
    untilMs: postedUntilMs({ deadlineMs, admitMs, readingEndsAtMs, patienceMs, nowMs: now() }),
  }
}

function book(
  deps: CompleteDeps,
  { hold }: Run,
  { bill, record }: Conclusion,
  answer: BookedAnswer,
): Promise<Settled | undefined> {
  return deps.keeper.book(
    { hold, chargeKind: 'settled', costNano: bill.costNano, tokens: totalOf(bill.tokens), record },
    answer,
  )
}

function reportOf(run: Run, { bill, record }: Conclusion): ExchangeReport {
  return {
    status: record.status,
    outcome: record.outcome,
    code: record.errorCode,
    organizationId: run.hold.organizationId,
    keyId: run.hold.keyId,
    modelRan: record.modelRan,
    attempts: run.attemptCount,
    costNano: bill.costNano,
    record,
    firstChunkMs: run.firstChunkMs,
    overheadMs: overheadOf(run, run.exchange.startedAtMs + record.totalMs),
  }
}
