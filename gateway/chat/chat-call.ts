import { type AttemptDeps, noteDropped } from '../exchange/call-target.ts'
import type { PlainJob } from '../exchange/plain-attempt.ts'
import type { Run } from '../exchange/run.ts'
import { type OpenAiUsage, readUsage } from '../exchange/usage.ts'
import { completionIdOf } from '../http/request-id.ts'
import type { Target } from '../routing/attempt-plan.ts'
import { adaptOpenAiRequest } from '../upstream/openai-chat-request.ts'
import { type JsonBytes, writeJson } from '../wire/json-writer.ts'
import { cutAnswer, normaliseAnswer, type PlainReading, writeAnswer } from './internal/plain-normaliser.ts'

/** The chat request as `target` gets it; what it was not sent is noted. */
export function writeChatRequest(
  deps: AttemptDeps,
  run: Run,
  target: Target,
): JsonBytes | Promise<JsonBytes> {
  const { request, mode, bodyBytes } = run.exchange
  const outputLimit = run.outputLimits.get(target.route) ?? null
  const written = adaptOpenAiRequest({ body: request, mode, dialect: target.backend.dialect, outputLimit })
  noteDropped(deps, run, target, written.dropped)
  run.outputLimit = outputLimit
  run.outputTokensMax = written.outputTokensMax
  return writeJson(written.json, bodyBytes)
}

/** One call, which returns the whole response. */
export function chatJob(deps: AttemptDeps, run: Run, target: Target): PlainJob {
  let read: Extract<PlainReading, { readonly kind: 'answer' }>
  return {
    callCount: 1,
    inputsPerCall: 1,
    bodyOf: () => writeChatRequest(deps, run, target),
    promptOf: () => run.exchange,
    accept(text) {
      const reading = normaliseAnswer(text, {
        completionId: completionIdOf(run.exchange.requestId),
        model: target.route.document.model,
        createdS: Math.floor(Date.now() / 1000),
        secrets: target.backend.provider.secrets,
      })
      if (reading.kind === 'bad_answer') return reading.failure
      read = reading
      return undefined
    },
    finish() {
      const { body, generated, usage } = read
      const { secrets } = target.backend.provider
      const answer = {
        generated,
        write: (shown: OpenAiUsage, share: number) => writeAnswer(cutAnswer(body, share), shown, secrets),
      }
      return { kind: 'plain', answer, usage: readUsage(usage) }
    },
  }
}
