import type { Target } from '../routing/attempt-plan.ts'
import { type Failure, failureOfFault } from '../upstream/failure.ts'
import { createBodyCollector, type ProviderCall } from '../upstream/provider-call.ts'
import { type AttemptDeps, callTarget, clockProvider } from './call-target.ts'
import type { Run } from './run.ts'
import type { Served } from './served.ts'

/** What is asked of a provider for one plain answer: a call, or several that make the answer together. */
export type PlainJob = {
  /** The body of each call. */
  readonly bodies: readonly Buffer[]
  /** Takes the whole answer of one call, of status 2xx; a failure ends the attempt. */
  readonly accept: (text: string, call: number) => Failure | undefined
  /** Called once all of them were accepted. */
  readonly finish: () => Served
}

/** Calls of one attempt that run at a time: a large request must not take a provider for itself. */
const callsAtOnce = 4
/** Largest answer of several calls together: 128 MiB. One alone may have half of that. */
const answersBytesMax = 128 * 1024 * 1024

/** Deadlines are rounded up to these, so that Node keeps many of them in one list and not each in its own. */
const deadlineStepMs = 20

/** One plain attempt: the whole answer is read and checked, within `timeMs`, before anybody sees it. */
export function attemptPlain(
  deps: AttemptDeps,
  run: Run,
  target: Target,
  { timeMs, job }: { readonly timeMs: number; readonly job: PlainJob },
): Promise<Served> {
  return new Promise((resolve, reject) => {
    let running: readonly ProviderCall[] = []
    const clock = clockProvider(run, deps.now)
    let sentCount = 0
    let bytesRead = 0
    const late = () => fail(failureOfFault('first_byte_timeout'))
    const deadline = setTimeout(late, Math.ceil(timeMs / deadlineStepMs) * deadlineStepMs)
    const stay = run.departure.onLeave(() => {
      if (run.ran === undefined) over({ kind: 'left_unanswered' })
      else over({ kind: 'plain', answer: null, usage: { kind: 'missing' } })
    })

    function letGo(): void {
      for (const call of running) call.cancel()
      running = []
      clock.stop()
      clearTimeout(deadline)
      stay()
    }

    function over(served: Served): void {
      letGo()
      resolve(served)
    }

    function fail(failure: Failure): void {
      over({ kind: 'failed', failure })
    }

    function sendNext(): void {
      const position = sentCount++
      const bytes = job.bodies[position]
      if (bytes === undefined) return
      const body = createBodyCollector()
      const call = callTarget(deps, target, bytes, null, {
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
          const isLast = running.length === 0 && sentCount >= job.bodies.length
          if (isLast) clock.stop()
          const failure = job.accept(body.text(), position)
          if (failure !== undefined) fail(failure)
          else if (isLast) over(job.finish())
          else sendNext()
        },
        onFailure: fail,
        onCrash(error) {
          letGo()
          reject(error)
        },
      })
      running = [...running, call]
    }

    for (let n = 0; n < callsAtOnce; n++) sendNext()
  })
}
