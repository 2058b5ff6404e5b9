import type { Target } from '../routing/attempt-plan.ts'
import { type Failure, failureOfDeadline, failureOfFault, failureOfOwnLimit } from '../upstream/failure.ts'
import { createBodyCollector, type ProviderCall } from '../upstream/provider-call.ts'
import type { JsonBytes } from '../wire/json-writer.ts'
import { type AttemptDeps, callTarget, clockProvider } from './call-target.ts'
import { paceCalls } from './internal/paced-calls.ts'
import { type Run, type SentPrompt, stopsWhenClosed } from './run.ts'
import type { AttemptOptions } from './serve.ts'
import type { Served } from './served.ts'

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
  /** What of the prompt the first calls carry. */
  readonly promptOf: (callsSent: number) => SentPrompt
  /** Takes the whole answer of one call, of status 2xx; a failure ends the attempt. */
  readonly accept: (text: string, call: number) => Failure | undefined
  /** Called once all of them were accepted. */
  readonly finish: () => Served
}

type WrittenBody = { readonly bytes: JsonBytes } | { readonly failure: Failure }

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
    let running: readonly ProviderCall[] = []
    let clock: ReturnType<typeof clockProvider> | undefined
    let [postedCount, bytesRead] = [0, 0]
    let isOver = false
    const onBody = { onWritten: post, onFailure: (why: Failure) => fail(why), onCrash: crash }
    const calls = paceCalls({ count: job.callCount, furtherCalls, send: (at) => writeBody(job, at, onBody) })
    // After waiting for our own limit, the provider has had less than that time.
    const late = () => fail(calls.haveWaited() ? failureOfDeadline : failureOfFault('first_byte_timeout'))
    let deadline = setTimeout(late, Math.ceil(timeMs / deadlineStepMs) * deadlineStepMs)
    const readOn = () => {
      clearTimeout(deadline)
      deadline = setTimeout(late, run.readingEndsAtMs - deps.now())
    }
    const stay = onceLeft(run, target, job, { readOn, over })

    function letGo(): void {
      isOver = true
      for (const call of running) call.cancel()
      clock?.stop()
      clearTimeout(deadline)
      calls.stop()
      stay()
    }

    function over(served: Served): void {
      letGo()
      run.prompt = isWhole(served) ? run.exchange : job.promptOf(postedCount)
      resolve(served)
    }

    const fail = (failure: Failure) => (isOver ? undefined : over({ kind: 'failed', failure }))
    function crash(error: unknown): void {
      letGo()
      reject(error)
    }

    function post(position: number, bytes: JsonBytes): void {
      if (isOver) return
      postedCount += 1
      clock ??= clockProvider(run, deps.now)
      const body = createBodyCollector()
      const sending = { bytes, firstByteMs: null }
      const call = callTarget(deps, run, target, sending, {
        onAnswer() {
          run.ran = target.route
        },
        onData(data) {
          bytesRead += data.length
          if (bytesRead > answersBytesMax) fail(failureOfFault('answer_too_large'))
          else body.push(data)
          return 'something' // white space, too: its deadline is the attempt's
        },
        onEnd() {
          running = running.filter((other) => other !== call)
          const isLast = calls.noteEnd()
          if (isLast) clock?.stop()
          const failure = job.accept(body.text(), position)
          if (failure !== undefined) fail(failure)
          else if (isLast) over(job.finish())
          else calls.sendMore()
        },
        onFailure: (why: Failure) => fail(why),
        onCrash: crash,
      })
      running = [...running, call]
    }

    calls.sendMore()
  })
}

type OnBody = {
  readonly onWritten: (position: number, bytes: JsonBytes) => void
  readonly onFailure: (failure: Failure) => void
  readonly onCrash: (error: unknown) => void
}

/** Writes the body of one call, at once where it is not large. */
function writeBody(job: PlainJob, position: number, { onWritten, onFailure, onCrash }: OnBody): void {
  const take = (body: WrittenBody) =>
    'failure' in body ? onFailure(body.failure) : onWritten(position, body.bytes)
  const body = job.bodyOf(position)
  if (body instanceof Promise) body.then(take).catch(onCrash)
  else take(body)
}

/** Of several calls the rest is not sent, and what was sent is estimated; a single one is read to its end. */
function onceLeft(
  run: Run,
  target: Target,
  { callCount }: PlainJob,
  { readOn, over }: { readonly readOn: () => void; readonly over: (served: Served) => void },
): () => void {
  return run.departure.onLeave(() => {
    const isWorthReading = run.owedTo !== undefined && callCount === 1 && !stopsWhenClosed(run, target)
    if (isWorthReading) readOn()
    else if (run.ran === undefined) over({ kind: 'left_unanswered' })
    else over({ kind: 'plain', answer: null, usage: { kind: 'missing' } })
  })
}

function isWhole(served: Served): boolean {
  return served.kind === 'plain' && served.answer !== null
}
