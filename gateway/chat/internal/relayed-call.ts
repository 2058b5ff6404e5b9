import { type AttemptDeps, noteDropped, type WrittenCall } from '../../exchange/call-target.ts'
import type { Run } from '../../exchange/run.ts'
import type { RelayFormat } from '../../formats/api-format.ts'
import type { Target } from '../../routing/attempt-plan.ts'
import { relayedOutputLimit } from '../../upstream/chat-request.ts'
import { type Failure, failureOfBadAnswer, failureOfRefusal } from '../../upstream/failure.ts'
import type {
  BackendRelay,
  OwnAnswer,
  OwnRequest,
  RelayedCall,
  RelayReading,
} from '../../upstream/provider-adapter.ts'
import { findRelay } from '../../upstream/relay.ts'
import { searchFor } from '../../upstream/secret-search.ts'
import { unsupportedParameters } from '../../wire/errors.ts'
import { fieldsOf, findExactAnswerJson } from '../../wire/json-fields.ts'
import { writeJson } from '../../wire/json-writer.ts'
import type { OpenAiUsage } from '../../wire/openai-usage.ts'
import { whenDone, workThrough } from '../../wire/turns.ts'
import { normaliseAnswer, type PlainOptions, type PlainReading } from './plain-normaliser.ts'

/** How the response to a relayed request is read, and written for its client. */
export type RelayedReading = RelayReading & { readonly relay: RelayFormat }

type RelayedTarget = BackendRelay & { readonly own: OwnRequest; readonly format: RelayFormat }

type WrittenRelay = (WrittenCall & { readonly reading: RelayedReading }) | { readonly failure: Failure }

/** How a request is relayed to `target`; `undefined`: it is translated. */
export function relayOf({ exchange }: Run, { backend }: Target): RelayedTarget | undefined {
  if (exchange.endpoint !== 'chat') return undefined
  const { own, format } = exchange
  const relay = findRelay(own, backend.dialect)
  if (own === undefined || relay === undefined || format.relay === undefined) return undefined
  return { ...relay, own, format: format.relay }
}

/** The client's own request as `target` gets it; what it was not sent is noted. */
export function writeRelayed(
  deps: AttemptDeps,
  run: Run,
  target: Target,
  { relay, urls, own, format }: RelayedTarget,
): WrittenRelay | Promise<WrittenRelay> {
  const { request, mode, bodyBytes } = run.exchange
  const { dialect } = target.backend
  run.outputLimit = run.outputLimits.get(target.route) ?? null
  run.outputTokensMax = relayedOutputLimit(request, dialect, run.outputLimit)
  const finish = ({ json, headers, version, dropped, reading }: RelayedCall) => {
    // What another provider encrypted is known only now.
    if (run.exchange.options.strictParameters && dropped.length > 0)
      return { failure: failureOfRefusal(unsupportedParameters(request.model, dropped)) }
    noteDropped(deps, run, target, dropped)
    const to = { url: urls[mode], headers, version }
    const call = { to, reading: { ...reading, relay: format } }
    return whenDone(writeJson(json, bodyBytes), (bytes) => ({ bytes, ...call }))
  }
  const { outputTokensMax } = run
  return whenDone(workThrough(relay.write({ own, mode, dialect, outputTokensMax }), bodyBytes), finish)
}

type Relayed = Pick<Extract<PlainReading, { kind: 'answer' }>, 'kind' | 'generated' | 'usage'> &
  Pick<OwnAnswer, 'serverTools'> & {
    readonly write: (usage: OpenAiUsage, costRub: string, share: number) => string
  }

/** Measures a whole response as a chat's. The client gets the provider's own. */
export function readRelayed(
  text: string,
  { readOwnAnswer, relay }: RelayedReading,
  options: PlainOptions,
): Relayed | Extract<PlainReading, { kind: 'bad_answer' }> {
  const own = fieldsOf(findExactAnswerJson(text))
  if (own === undefined) return { kind: 'bad_answer', failure: failureOfBadAnswer('malformed_answer') }
  const { read, serverTools } = readOwnAnswer(own)
  const result = normaliseAnswer(read, options)
  if (result.kind === 'bad_answer') return result
  const search = searchFor(options.secrets)
  return {
    kind: 'answer',
    generated: result.generated,
    usage: result.usage,
    serverTools,
    write(usage, costRub, share) {
      const shown = fieldsOf(search?.hidden(own)) ?? own
      return JSON.stringify(relay.answerOf(shown, options, { usage, costRub }, share))
    },
  }
}
