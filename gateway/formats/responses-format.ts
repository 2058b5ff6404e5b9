import { errorBody, type Refusal } from '#core/errors/refusal'
import type { ResponsesAsked } from '../requests/responses-asked.ts'
import type { JsonObject } from '../wire/json-fields.ts'
import type { OpenAiUsage } from '../wire/openai-usage.ts'
import type { ApiFormat, FormatAnswer, FormatFacts } from './api-format.ts'
import { noEvents } from './internal/item-events.ts'
import { endState, responseHead, responseIdOf, responseUsage } from './internal/response-object.ts'
import { ResponseOutput } from './internal/response-output.ts'
import { breakOf, rejectionOf } from './internal/responses-error.ts'
import { ResponsesStream } from './internal/responses-stream.ts'
import { stepsOf } from './internal/whole-steps.ts'
import type { SignedReasoning } from './signed-reasoning.ts'

export type ResponsesFormatDeps = {
  /** Encrypts what a provider signed, for its organization; `undefined`: it cannot be encrypted. */
  readonly encrypt: (signed: SignedReasoning) => string | undefined
  readonly nowS: () => number
}

/** OpenAI's Responses, for one request: how its stream goes on depends on what was written of it. */
export function createResponsesFormat(asked: ResponsesAsked, deps: ResponsesFormatDeps): ApiFormat {
  const repeated = JSON.stringify(asked.repeated).slice(1, -1)
  const { toolOf } = asked
  let stream: ResponsesStream | undefined
  const open = ({ requestId, model, createdS, origin }: FormatFacts) => {
    const facts = { requestId, model, createdS, serviceTier: asked.serviceTier }
    return new ResponsesStream({ facts, origin, repeated, toolOf, ...deps })
  }
  const rejected = (requestId: string) =>
    open({ requestId, model: asked.model, createdS: deps.nowS(), origin: '' })
  return {
    name: 'responses',
    idOf: responseIdOf,
    keepAlive: ': keep-alive\n\n',
    parameterOf: asked.pathOf,
    writeError: (refusal, requestId) => errorBody(inTheirNames(refusal, asked), requestId),
    writeErrorStream: (refusal, requestId) =>
      rejected(requestId).fail(rejectionOf(inTheirNames(refusal, asked))),
    writeStreamError: (refusal, requestId) =>
      (stream ?? rejected(requestId)).fail(breakOf(inTheirNames(refusal, asked))),
    answerOf: (answer, usage, costRub) => wholeResponse(answer, usage, costRub, asked, deps),
    createStreamWriter(facts) {
      stream = open(facts)
      return stream
    },
  }
}

function wholeResponse(
  { choices, extras, requestId, model, createdS, origin }: FormatAnswer,
  usage: OpenAiUsage,
  costRub: string,
  { repeated, serviceTier, toolOf }: ResponsesAsked,
  { encrypt, nowS }: ResponsesFormatDeps,
): JsonObject {
  const output = new ResponseOutput({ requestId, origin, toolOf, encrypt, events: noEvents })
  for (const step of stepsOf(choices[0] ?? {})) output.take(step)
  const { service_tier: tier } = extras
  const facts = { requestId, model, createdS, serviceTier: typeof tier === 'string' ? tier : serviceTier }
  return {
    ...repeated,
    ...responseHead(facts, endState(output.finish, output.isRefused, nowS())),
    output: output.items,
    usage: responseUsage(usage, costRub),
  }
}

/** A rejection that names the fields of the client's request: it was decided about a chat. */
function inTheirNames(refusal: Refusal, { pathOf }: ResponsesAsked): Refusal {
  const { param, message } = refusal
  const own = param === null ? null : pathOf(param)
  const named = param === null || own === null ? message : message.replaceAll(param, own)
  return { ...refusal, param: own, message: named.replace(/\bmax_tokens\b/g, 'max_output_tokens') }
}
