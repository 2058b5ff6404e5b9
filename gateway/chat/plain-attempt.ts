import type { Target } from '../routing/attempt-plan.ts'
import { failureOfFault } from '../upstream/failure.ts'
import { createBodyCollector } from '../upstream/provider-call.ts'
import { type AttemptDeps, callTarget, readUsageOf } from './call-target.ts'
import { normaliseAnswer } from './plain-normaliser.ts'
import { completionIdOf, type Run } from './run.ts'
import type { Served } from './served.ts'

/** One plain attempt: the whole answer is read and checked, within `timeMs`, before anybody sees it. */
export function attemptPlain(deps: AttemptDeps, run: Run, target: Target, timeMs: number): Promise<Served> {
  return new Promise((resolve, reject) => {
    const body = createBodyCollector()
    const deadline = setTimeout(() => {
      call.cancel()
      over({ kind: 'failed', failure: failureOfFault('first_byte_timeout') })
    }, timeMs)

    function over(served: Served): void {
      clearTimeout(deadline)
      stay()
      resolve(served)
    }

    const stay = run.departure.onLeave(() => {
      call.cancel()
      if (run.ran === undefined) over({ kind: 'left_unanswered' })
      else over({ kind: 'plain', answer: null, usage: { kind: 'missing' } })
    })

    const call = callTarget(deps, run, target, timeMs, {
      onAnswer() {
        run.ran = target.route
      },
      onData: body.push,
      onEnd() {
        const read = normaliseAnswer(body.text(), {
          completionId: completionIdOf(run.exchange),
          model: target.route.document.model,
          createdS: Math.floor(Date.now() / 1000),
        })
        if (read.kind === 'bad_answer') over({ kind: 'failed', failure: read.failure })
        else over({ kind: 'plain', answer: read, usage: readUsageOf(run, target, read.usage) })
      },
      onFailure: (failure) => over({ kind: 'failed', failure }),
      onCrash: reject,
    })
  })
}
