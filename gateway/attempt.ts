import { chatJob } from './chat/chat-call.ts'
import { attemptStream } from './chat/stream-attempt.ts'
import { embeddingsJob } from './embeddings/embeddings-job.ts'
import type { AttemptDeps } from './exchange/call-target.ts'
import { attemptPlain } from './exchange/plain-attempt.ts'
import type { MakeAttempt } from './exchange/serve.ts'

/** One attempt at one provider: a chat, plain or streamed as the client asked, or embeddings. */
export function createAttempt(deps: AttemptDeps): MakeAttempt {
  return (run, target, options) => {
    const { exchange } = run
    if (exchange.mode === 'stream') return attemptStream({ ...deps, ...options }, run, target)
    const job =
      exchange.endpoint === 'embeddings'
        ? embeddingsJob(deps, { run, exchange }, target)
        : chatJob(deps, run, target, options.timeMs)
    return attemptPlain(deps, run, target, { ...options, job })
  }
}
