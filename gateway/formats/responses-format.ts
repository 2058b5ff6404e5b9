import { errorBody, type Refusal } from '#core/errors/refusal'
import type { ResponsesAsked } from '../requests/responses-asked.ts'
import { fieldsOf, findExactJson, type JsonObject, objectsIn } from '../wire/json-fields.ts'
import type { OpenAiUsage } from '../wire/openai-usage.ts'
import { withRenamedParam } from '../wire/renamed-param.ts'
import type { ApiFormat, FormatAnswer, FormatFacts } from './api-format.ts'
import { noEvents } from './internal/item-events.ts'
import { endState, responseHead, responseIdOf, responseUsage } from './internal/response-object.ts'
import { ResponseOutput } from './internal/response-output.ts'
import { breakOf, type ResponsesError, rejectionOf } from './internal/responses-error.ts'
import { cutResponse, OwnResponse, ResponsesRelay } from './internal/responses-relay.ts'
import { ResponsesStream } from './internal/responses-stream.ts'
import { stepsOf } from './internal/whole-steps.ts'
import type { KeepResponse, WholeResponse } from './keep-response.ts'
import type { SignedReasoning } from './signed-reasoning.ts'

export type ResponsesFormatDeps = {
  /** Encrypts what a provider signed, for its organization; `undefined`: it cannot be encrypted. */
  readonly encrypt: (signed: SignedReasoning) => string | undefined
  readonly nowS: () => number
  /** Absent: nothing is stored. */
  readonly keep?: KeepResponse | undefined
}

/** OpenAI's Responses, for one request: how its stream goes on depends on what was written of it. */
export function createResponsesFormat(asked: ResponsesAsked, deps: ResponsesFormatDeps): ApiFormat {
  const repeated = JSON.stringify(asked.repeated).slice(1, -1)
  const { toolOf } = asked
  const { keep } = deps
  let stream: { fail(error: ResponsesError): string } | undefined
  let whole: JsonObject | undefined
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
    answerOf(answer, usage, costRub) {
      whole = wholeResponse(answer, usage, costRub, asked, deps)
      return whole
    },
    ...(keep === undefined
      ? {}
      : { keep: (json, id) => keepWhole({ json, items: objectsIn(whole?.output) }, id, keep) }),
    createStreamWriter(facts) {
      const writer = open(facts)
      stream = writer
      return writer
    },
    relay: {
      createStreamRelay(facts) {
        const relay = new ResponsesRelay(relayOptions(facts, asked, deps))
        stream = relay
        return relay
      },
      answerOf(given, facts, charged, share) {
        const own = new OwnResponse(relayOptions(facts, asked, deps))
        whole = own.chargedOf(own.responseOf(cutResponse(given, share)), charged)
        return whole
      },
    },
  }
}

function relayOptions(
  facts: FormatFacts,
  { repeated }: ResponsesAsked,
  { encrypt, keep }: ResponsesFormatDeps,
) {
  return { facts, encrypt, keep, previousId: repeated.previous_response_id ?? null }
}

function wholeResponse(
  { choices, extras, requestId, model, createdS, origin }: FormatAnswer,
  usage: OpenAiUsage,
  costRub: string,
  { repeated, serviceTier, toolOf }: ResponsesAsked,
  { encrypt, nowS, keep }: ResponsesFormatDeps,
): JsonObject {
  const output = new ResponseOutput({ requestId, origin, toolOf, encrypt, events: noEvents })
  for (const step of stepsOf(choices[0] ?? {})) output.take(step)
  const { service_tier: tier } = extras
  const facts = { requestId, model, createdS, serviceTier: typeof tier === 'string' ? tier : serviceTier }
  return {
    ...repeated,
    ...responseHead(facts, endState(output.finish, output.isRefused, nowS()), keep !== undefined),
    output: output.items,
    usage: responseUsage(usage, costRub),
  }
}

async function keepWhole(response: WholeResponse, requestId: string, keep: KeepResponse): Promise<string> {
  const { json } = response
  if (await keep(response, requestId)) return json
  return JSON.stringify({ ...fieldsOf(findExactJson(json)), store: false })
}

/** A rejection that names the fields of the client's request: it was decided about a chat. */
function inTheirNames(refusal: Refusal, { pathOf }: ResponsesAsked): Refusal {
  const { message, ...renamed } = withRenamedParam(refusal, pathOf)
  return { ...renamed, message: message.replace(/\bmax_tokens\b/g, 'max_output_tokens') }
}
