import type { Target } from '../routing/attempt-plan.ts'
import { type Failure, failureOfDeadline, failureOfFault, failureOfOwnLimit } from '../upstream/failure.ts'
import { createBodyCollector, type ProviderCall } from '../upstream/provider-call.ts'
import {
  type AttemptDeps,
  type AttemptHandler,
  callTarget,
  clockProvider,
  type WrittenCall,
} from './call-target.ts'
import { paceCalls } from './internal/paced-calls.ts'
import { createSentCalls, type SentCalls } from './internal/sent-calls.ts'
import { type Run, type SentPrompt, stopsWhenClosed } from './run.ts'
import type { AttemptOptions } from './serve.ts'
import type { Served } from './served.ts'
import type { UsageReading } from './usage.ts'

/** The request of one non-streaming response to a provider: a call, or several that make the answer together. */
export type PlainJob = {
  readonly callCount: number
  /** Inputs that one call takes. */
  readonly inputsPerCall: number
  /**
   * The body of one call, written when it is sent: together they may be many times what the client sent. A promise where
   * it is large. A failure: the provider's API cannot express it.
   */
  readonly bodyOf: (call: number) => WrittenBody | Promise<WrittenBody>
  /** What of the prompt some calls carry, and what the provider has counted of it. */
  readonly partOf: (calls: readonly number[]) => { readonly prompt: SentPrompt; readonly usage: UsageReading }
  /** Takes the whole answer of one call, of status 2xx; a failure ends the attempt. */
  readonly accept: (text: string, call: number) => Failure | undefined
  /** Called once all of them were accepted. */
  readonly finish: () => Served
}

type WrittenBody = WrittenCall | { readonly failure: Failure }

type PlainOptions = Pick<AttemptOptions, 'timeMs' | 'furtherCalls'> & { readonly job: PlainJob }

/** Largest answer of several calls together: 128 MiB. One may have half of that. */
const answersBytesMax = 128 * 1024 * 1024

/** Part of an attempt's time in which all of its calls must be sent; the rest is for the last ones' answers. */
const sendingShare = 0.9

/** Deadlines are rounded up to multiples of this, so that Node keeps many of them in one timer list. */
const deadlineStepMs = 20

/**
 * One non-streaming attempt: the whole response is read and checked, within `timeMs`, before any of it is
 * sent.
 *
 * Each call has its own place in the provider's limit and waits for it. If they may not all be sent in time,
 * none of them is, and the failure is `failureOfOwnLimit`.
 */
export function attemptPlain(
  deps: AttemptDeps,
  run: Run,
  target: Target,
  options: PlainOptions,
): Promise<Served> {
  const { timeMs, furtherCalls, job } = options
  const tooMany = furtherCalls.reserve(job.callCount - 1, timeMs * sendingShare)
  if (tooMany !== undefined) {
    const inputsMax = tooMany.callsMax * job.inputsPerCall
    return Promise.resolve({ kind: 'failed', failure: failureOfOwnLimit(inputsMax, tooMany.retryAfterMs) })
  }
  return makeCalls(deps, run, target, options)
}

function makeCalls(
  deps: AttemptDeps,
  run: Run,
  target: Target,
  { timeMs, furtherCalls, job }: PlainOptions,
): Promise<Served> {
  return new Promise((resolve, reject) => {
    const sent = createSentCalls()
    let clock: ReturnType<typeof clockProvider> | undefined
    const room = { bytes: answersBytesMax }
    let state: 'sending' | 'reading' | 'over' = 'sending'
    const onBody = { onWritten: post, onFailure: (why: Failure) => fail(why), onCrash: crash }
    const calls = paceCalls({ count: job.callCount, furtherCalls, send: (at) => writeBody(job, at, onBody) })
    // After waiting for our own limit, the provider has had less than that time.
    const late = () => fail(calls.haveWaited() ? failureOfDeadline : failureOfFault('first_byte_timeout'))
    let deadline = setTimeout(late, Math.ceil(timeMs / deadlineStepMs) * deadlineStepMs)
    const endLeft = () => over(servedOfLeft(run, job, sent))
    const endOnceRead = () => sent.areOver() && endLeft()
    /** The rest of several calls is not sent. Those that were sent are read to their end, even if one fails. */
    const readOn = () => {
      if (job.callCount > 1) state = 'reading'
      calls.stop()
      clearTimeout(deadline)
      deadline = setTimeout(state === 'reading' ? endLeft : late, run.readingEndsAtMs - deps.now())
      if (state === 'reading') endOnceRead()
    }
    const stay = onceLeft(run, target, { readOn, endLeft })

    function letGo(): void {
      state = 'over'
      sent.cancel()
      clock?.stop()
      clearTimeout(deadline)
      calls.stop()
      stay()
    }

    function over(served: Served): void {
      letGo()
      run.prompt = isWhole(served) ? run.exchange : job.partOf(sent.positions()).prompt
      resolve(served)
    }

    const fail = (failure: Failure) => (state === 'over' ? undefined : over({ kind: 'failed', failure }))
    function crash(error: unknown): void {
      letGo()
      reject(error)
    }

    function post(position: number, written: WrittenCall): void {
      if (state !== 'sending') return
      clock ??= clockProvider(run, deps.now)
      const call = readWhole(deps, run, target, written, { room, onText, onFailure, onCrash: crash })
      sent.add(call, position)
      function onText(text: string): void {
        const isLast = calls.noteEnd()
        if (isLast) clock?.stop()
        const failure = job.accept(text, position)
        if (failure !== undefined) return void onFailure(failure)
        sent.end(call)
        if (state === 'reading') endOnceRead()
        else if (isLast) over(job.finish())
        else calls.sendMore()
      }
      function onFailure(failure: Failure): void {
        if (state === 'sending') fail(failure)
        else sent.fail(call, position, failure)
        if (state === 'reading') endOnceRead()
      }
    }

    calls.sendMore()
  })
}

/** What a call's answer is handed to. `room`: for the answers of all calls together. */
type Reader = Pick<AttemptHandler, 'onFailure' | 'onCrash'> & {
  readonly room: { bytes: number }
  readonly onText: (text: string) => void
}

/** Makes one call, and reads its whole answer. */
function readWhole(
  deps: AttemptDeps,
  run: Run,
  target: Target,
  written: WrittenCall,
  { room, onText, onFailure, onCrash }: Reader,
): ProviderCall {
  const body = createBodyCollector()
  return callTarget(
    deps,
    run,
    target,
    { ...written, firstByteMs: null },
    {
      onAnswer() {
        run.ran = target.route
      },
      onData(data) {
        room.bytes -= data.length
        if (room.bytes < 0) onFailure(failureOfFault('answer_too_large'))
        else body.push(data)
        return 'something' // white space, too: its deadline is the attempt's
      },
      onEnd: () => onText(body.text()),
      onFailure,
      onCrash,
    },
  )
}

type OnBody = {
  readonly onWritten: (position: number, written: WrittenCall) => void
  readonly onFailure: (failure: Failure) => void
  readonly onCrash: (error: unknown) => void
}

/** Writes the body of one call, at once where it is not large. */
function writeBody(job: PlainJob, position: number, { onWritten, onFailure, onCrash }: OnBody): void {
  const take = (body: WrittenBody) =>
    'failure' in body ? onFailure(body.failure) : onWritten(position, body)
  const body = job.bodyOf(position)
  if (body instanceof Promise) body.then(take).catch(onCrash)
  else take(body)
}

/** A response that a provider has begun to work on is read to its end. */
function onceLeft(
  run: Run,
  target: Target,
  { readOn, endLeft }: { readonly readOn: () => void; readonly endLeft: () => void },
): () => void {
  return run.departure.onLeave(() => {
    const isWorthReading = run.owedTo !== undefined && !stopsWhenClosed(run, target)
    if (isWorthReading) readOn()
    else endLeft()
  })
}

/** The outcome of calls whose client has left, and which were not all answered. */
function servedOfLeft(run: Run, job: PlainJob, sent: SentCalls): Served {
  if (run.ran === undefined) return { kind: 'left_unanswered' }
  return { kind: 'plain', answer: null, usage: job.partOf(sent.positions()).usage }
}

function isWhole(served: Served): boolean {
  return served.kind === 'plain' && served.answer !== null
}
