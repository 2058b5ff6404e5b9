import { type AttemptDeps, noteDropped, type WrittenCall } from '../exchange/call-target.ts'
import type { PlainJob } from '../exchange/plain-attempt.ts'
import type { Run } from '../exchange/run.ts'
import { readUsage } from '../exchange/usage.ts'
import type { Target } from '../routing/attempt-plan.ts'
import { adaptChatRequest } from '../upstream/chat-request.ts'
import type { Failure } from '../upstream/failure.ts'
import { type ChatCall, type ChatReading, isFailure } from '../upstream/provider-adapter.ts'
import { writeJson } from '../wire/json-writer.ts'
import type { OpenAiUsage } from '../wire/openai-usage.ts'
import { whenDone } from '../wire/turns.ts'
import { imageSourceOf } from './internal/image-source.ts'
import { cutAnswer, normaliseAnswer, type PlainReading, writeAnswer } from './internal/plain-normaliser.ts'
import { type RelayedReading, readRelayed, relayOf, writeRelayed } from './internal/relayed-call.ts'

/** A request that can be sent and its response read, or why the provider's API cannot express it. */
export type WrittenChat =
  | (WrittenCall & { readonly reading: ChatReading | RelayedReading })
  | { readonly failure: Failure }

/** The chat request as `target` gets it, in its client's own format if it speaks that; what it was not sent is noted. */
export function writeChatRequest(
  deps: AttemptDeps,
  run: Run,
  target: Target,
  timeMs: number,
): WrittenChat | Promise<WrittenChat> {
  const relayed = relayOf(run, target)
  run.isRelayed = relayed !== undefined
  return relayed === undefined
    ? writeTranslated(deps, run, target, timeMs)
    : writeRelayed(deps, run, target, relayed)
}

function writeTranslated(
  deps: AttemptDeps,
  run: Run,
  target: Target,
  timeMs: number,
): WrittenChat | Promise<WrittenChat> {
  const { request, mode, bodyBytes } = run.exchange
  const outputLimit = run.outputLimits.get(target.route) ?? null
  const [first] = run.attempts
  const isFirst = first === undefined || first.provider === target.backend.provider.name
  const { call, dropped, outputTokensMax } = adaptChatRequest({
    body: request,
    mode,
    dialect: target.backend.dialect,
    outputLimit,
    unmarked: isFirst ? 'kept' : 'removed',
    bodyBytes,
    fetchImage: imageSourceOf(deps, run, timeMs),
  })
  noteDropped(deps, run, target, dropped)
  run.outputLimit = outputLimit
  run.outputTokensMax = outputTokensMax
  return whenDone(call, (made) => writeCall(made, bodyBytes))
}

function writeCall(call: ChatCall | Failure, bodyBytes: number): WrittenChat | Promise<WrittenChat> {
  if (isFailure(call)) return { failure: call }
  const written = writeJson(call.json, bodyBytes + (call.addedBytes ?? 0))
  return whenDone(written, (bytes) => ({ bytes, reading: call }))
}

/** One call, which returns the whole response. */
export function chatJob(deps: AttemptDeps, run: Run, target: Target, timeMs: number): PlainJob {
  let read: ReadAnswer
  let reading: ChatReading | RelayedReading
  const keep = (written: WrittenChat) => {
    if ('reading' in written) reading = written.reading
    return written
  }
  return {
    callCount: 1,
    inputsPerCall: 1,
    bodyOf: () => whenDone(writeChatRequest(deps, run, target, timeMs), keep),
    partOf: () => ({ prompt: run.exchange, usage: { kind: 'missing' } }),
    accept(text) {
      const result = readAnswer(deps, run, target, text, reading)
      if (result.kind === 'bad_answer') return result.failure
      read = result
      return undefined
    },
    finish() {
      const { generated, usage, write } = read
      return { kind: 'plain', answer: { generated, write }, usage: readUsage(usage) }
    },
  }
}

type ReadAnswer = Pick<Extract<PlainReading, { kind: 'answer' }>, 'kind' | 'generated' | 'usage'> & {
  readonly write: (usage: OpenAiUsage, costRub: string, share: number) => string
}

/** A whole answer, measured, and how its client gets it. */
function readAnswer(
  deps: AttemptDeps,
  run: Run,
  target: Target,
  text: string,
  reading: ChatReading | RelayedReading,
): ReadAnswer | Extract<PlainReading, { kind: 'bad_answer' }> {
  const { secrets } = target.backend.provider
  const options = {
    requestId: run.exchange.requestId,
    model: target.route.document.model,
    createdS: Math.floor(Date.now() / 1000),
    origin: target.backend.dialect.origin,
    secrets,
  }
  if ('relay' in reading) {
    const relayed = readRelayed(text, reading, options)
    if (relayed.kind === 'answer') deps.noteServerTools(target.backend.provider.name, relayed.serverTools)
    return relayed
  }
  const result = normaliseAnswer(reading.readAnswer(text), options)
  if (result.kind === 'bad_answer') return result
  const { answer, generated, usage } = result
  return {
    kind: 'answer',
    generated,
    usage,
    write: (charged, costRub, share) =>
      writeAnswer(run.exchange.format, cutAnswer(answer, share), { usage: charged, costRub }, secrets),
  }
}
