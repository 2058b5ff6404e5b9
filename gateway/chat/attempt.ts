import type { AttemptDeps } from './call-target.ts'
import { attemptPlain } from './plain-attempt.ts'
import type { MakeAttempt } from './serve.ts'
import { attemptStream } from './stream-attempt.ts'

/** One call of one provider, plain or streamed as the client asked. */
export function createAttempt(deps: AttemptDeps): MakeAttempt {
  return (run, target, options) =>
    run.exchange.request.stream === true
      ? attemptStream({ ...deps, ...options }, run, target)
      : attemptPlain(deps, run, target, options.timeMs)
}
