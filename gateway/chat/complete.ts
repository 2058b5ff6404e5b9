import type { Admission, Admitted, Hold, RateLimits, Settled } from '#cabinet/admission'
import { formatRub, nanoRub } from '#cabinet/money'
import { RedisUnavailable } from '#cabinet/redis-connection'
import type { ChargeKeeper } from '../charges/charge-keeper.ts'
import { errorBody, type Refusal, refusalFor, serviceUnavailable, streamCut } from '../errors.ts'
import { sendPlain, sendRefusal } from '../http/answer.ts'
import {
  type Bill,
  billOf,
  type DeliveredTokens,
  type Ending,
  nothingDelivered,
  nothingDue,
  totalOf,
} from './bill.ts'
import type { ChatExchange, CompleteChat, ExchangeReport } from './chat-exchange.ts'
import {
  deliveredTokensOf,
  factsOf,
  priceOf,
  progressOf,
  type RecordedEnding,
  type Run,
  recordBeforeStart,
  recordOf,
  startRun,
} from './run.ts'
import { type MakeAttempt, serve } from './serve.ts'
import type { PlainAnswer, Served } from './served.ts'
import { errorFrame } from './stream-normaliser.ts'
import { estimateText } from './token-estimate.ts'
import { openAiUsageOf } from './usage.ts'

export type CompleteChatDeps = {
  readonly admission: Admission
  readonly keeper: ChargeKeeper
  readonly attempt: MakeAttempt
  /** `performance.now`. */
  readonly now: () => number
  readonly random: () => number
}

/** The use-case of a chat request: admit → attempt → forward → settle → last byte. See `architecture.md`. */
export function createCompleteChat(deps: CompleteChatDeps): CompleteChat {
  return async (exchange) => {
    const answer = await admit(deps, exchange)
    if (answer.outcome === 'refused') return refuse(exchange, answer.refusal, answer.limits)
    const run = startRun(exchange, answer)
    deps.keeper.track({ hold: run.hold, progress: () => progressOf(run, deps.now()) })
    const routes = answer.allowed.flatMap((index) => exchange.candidates[index]?.route ?? [])
    const served = await serve(run, routes, deps)
    if (served.kind === 'exhausted') return await endUnanswered(deps, run, served.refusal)
    if (served.kind === 'plain') return await endPlain(deps, run, served)
    if (served.kind === 'streamed') return await endStreamed(deps, run, served)
    return await endLeft(deps, run)
  }
}

type Refused = {
  readonly outcome: 'refused'
  readonly refusal: Refusal
  readonly limits: RateLimits | undefined
}

async function admit(
  deps: CompleteChatDeps,
  exchange: ChatExchange,
): Promise<({ readonly outcome: 'admitted' } & Admitted) | Refused> {
  const { requestId, caller, candidates } = exchange
  if (deps.keeper.isFull()) return { outcome: 'refused', refusal: serviceUnavailable, limits: undefined }
  const record = recordBeforeStart(exchange)
  try {
    const answer = await deps.admission.admit({
      requestId,
      ...caller,
      candidates: candidates.map(({ route, holdNano, tokens }) => ({
        model: route.document.model,
        holdNano,
        tokens,
      })),
      record,
    })
    if (answer.outcome === 'admitted') return answer
    const limits = 'limits' in answer ? answer.limits : undefined
    return { outcome: 'refused', refusal: refusalFor(answer, exchange.request.model), limits }
  } catch (error) {
    if (!(error instanceof RedisUnavailable)) throw error
    // It may have been admitted all the same: nobody will use that hold.
    const neverStarted = { ...record, outcome: 'never_started', status: 503 } as const
    void deps.keeper.release(unseenHold(requestId, caller.shard), neverStarted)
    return { outcome: 'refused', refusal: serviceUnavailable, limits: undefined }
  }
}

/** A hold of which only the name is known; Redis knows the rest, if it made it. */
function unseenHold(requestId: string, shard: Hold['shard']): Hold {
  const unknown = { organizationId: '', keyId: '', day: 0, second: 0, holdNano: 0n, tokens: 0 }
  return { requestId, shard, ...unknown }
}

function refuse(exchange: ChatExchange, refusal: Refusal, limits: RateLimits | undefined): ExchangeReport {
  const { requestId, raw } = exchange
  sendRefusal(raw, refusal, { requestId, ...(limits === undefined ? {} : { limits }) })
  return {
    status: refusal.status,
    outcome: 'refused',
    code: refusal.code,
    organizationId: null,
    keyId: null,
    modelRan: null,
    attempts: 0,
    costNano: null,
  }
}

/** No provider answered: the hold goes back, nothing is charged. */
async function endUnanswered(deps: CompleteChatDeps, run: Run, refusal: Refusal): Promise<ExchangeReport> {
  const outcome = refusal.status === 400 ? 'refused_upstream' : 'failed'
  const ending = { outcome, status: refusal.status, errorCode: refusal.code } as const
  await deps.keeper.release(run.hold, recordOf(run, nothingDue, ending, deps.now()))
  sendRefusal(run.exchange.raw, refusal, factsOf(run, deps.now()))
  return reportOf(run, ending, nothingDue)
}

/** The client left before a provider had answered: nothing is charged. */
async function endLeft(deps: CompleteChatDeps, run: Run): Promise<ExchangeReport> {
  await deps.keeper.release(run.hold, recordOf(run, nothingDue, clientGone, deps.now()))
  return reportOf(run, clientGone, nothingDue)
}

async function endPlain(
  deps: CompleteChatDeps,
  run: Run,
  served: Extract<Served, { kind: 'plain' }>,
): Promise<ExchangeReport> {
  const { raw, requestId } = run.exchange
  const { answer } = served
  const ending = answer === null ? clientGone : completed
  const bill = billFor(
    run,
    answer === null ? 'client_gone' : 'complete',
    served.usage,
    answer === null ? nothingDelivered : generatedTokensOf(answer),
  )
  const settled = await book(deps, run, bill, ending, 'plain')
  if (answer === null) return reportOf(run, ending, bill)
  if (settled === undefined) {
    sendRefusal(raw, serviceUnavailable, { requestId, limits: run.limits })
    return reportOf(run, unsettled, nothingDue)
  }
  const usage = served.usage.kind === 'reported' ? served.usage.openai : openAiUsageOf(bill.tokens)
  const json = JSON.stringify({ ...answer.body, usage })
  sendPlain(raw, json, { ...factsOf(run, deps.now()), costNano: settled.costNano })
  return reportOf(run, ending, bill)
}

async function endStreamed(
  deps: CompleteChatDeps,
  run: Run,
  served: Extract<Served, { kind: 'streamed' }>,
): Promise<ExchangeReport> {
  const { raw, requestId } = run.exchange
  const { normaliser } = served
  const bill = billFor(run, served.ending, served.usage, deliveredTokensOf(run))
  if (served.ending === 'client_gone') {
    await book(deps, run, bill, clientGone, 'streamed')
    return reportOf(run, clientGone, bill)
  }
  if (served.ending === 'upstream_cut') {
    raw.end(errorFrame(errorBody(streamCut, requestId)))
    await book(deps, run, bill, upstreamCut, 'streamed')
    return reportOf(run, upstreamCut, bill)
  }
  const settled = await book(deps, run, bill, completed, 'streamed')
  if (settled === undefined) {
    // All content was delivered, so the charge stands; it is kept and sent until Redis takes it.
    raw.end(errorFrame(errorBody(serviceUnavailable, requestId)))
    return reportOf(run, completed, bill)
  }
  const usage = served.usage.kind === 'reported' ? served.usage.openai : openAiUsageOf(bill.tokens)
  raw.end(normaliser.finishFrames(usage, formatRub(nanoRub(settled.costNano))))
  return reportOf(run, completed, bill)
}

const completed: RecordedEnding = { outcome: 'completed', status: 200, errorCode: null }
const clientGone: RecordedEnding = { outcome: 'client_gone', status: 499, errorCode: null }
const upstreamCut: RecordedEnding = { outcome: 'upstream_cut', status: 200, errorCode: 'upstream_error' }
const unsettled: RecordedEnding = { outcome: 'unsettled', status: 503, errorCode: 'service_unavailable' }

function billFor(run: Run, kind: Ending['kind'], usage: Ending['usage'], delivered: DeliveredTokens): Bill {
  const { promptTokens } = run.exchange
  return billOf({ kind, usage, promptTokens, delivered }, priceOf(run))
}

function generatedTokensOf({ generated }: PlainAnswer): DeliveredTokens {
  return { output: estimateText(generated.output), reasoning: estimateText(generated.reasoning) }
}

function book(
  deps: CompleteChatDeps,
  run: Run,
  bill: Bill,
  ending: RecordedEnding,
  answer: 'streamed' | 'plain',
): Promise<Settled | undefined> {
  const record = recordOf(run, bill, ending, deps.now())
  const { costNano } = bill
  return deps.keeper.book({ hold: run.hold, rank: 1, costNano, tokens: totalOf(bill.tokens), record }, answer)
}

function reportOf(run: Run, ending: RecordedEnding, bill: Bill): ExchangeReport {
  return {
    status: ending.status,
    outcome: ending.outcome,
    code: ending.errorCode,
    organizationId: run.hold.organizationId,
    keyId: run.hold.keyId,
    modelRan: run.ran?.document.model ?? null,
    attempts: run.attempts.length,
    costNano: bill.costNano,
  }
}
