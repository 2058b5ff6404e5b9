import { fieldsOf, findExactAnswerJson, itemsOf, type JsonObject } from '../../../../wire/json-fields.ts'
import { failureOfBadAnswer, failureOfErrorBody, isErrorBody } from '../../../failure.ts'
import type { WholeAnswer } from '../../../provider-adapter.ts'
import {
  type AnswerContext,
  blockedChoice,
  finishReasonOf,
  isFailedFinish,
  logprobsOf,
  readParts,
} from './candidate.ts'
import { usageOf } from './usage.ts'

/** A whole `GenerateContentResponse` as OpenAI's completion. */
export function readAnswer(text: string, context: AnswerContext): WholeAnswer {
  const body = findExactAnswerJson(text)
  if (isErrorBody(body)) return { kind: 'failed', failure: failureOfErrorBody(body, 'error_in_answer') }
  const response = fieldsOf(body)
  if (response === undefined) return { kind: 'failed', failure: failureOfBadAnswer('malformed_answer') }
  const usage = usageOf(response.usageMetadata)
  const blocked = blockedChoice(response)
  if (blocked !== undefined) {
    const message = { role: 'assistant', content: null }
    return { kind: 'answer', answer: { choices: [{ ...blocked, message }] }, usage }
  }
  const candidates = itemsOf(response.candidates).map((candidate) => fieldsOf(candidate) ?? {})
  const said = candidates.map((candidate) => readParts(candidate, 0, context))
  if (candidates.some(isFailedFinish) && said.every(({ isEmpty }) => isEmpty))
    return { kind: 'failed', failure: failureOfBadAnswer('malformed_call') }
  const choices = candidates.map((candidate, at) => choiceOf(candidate, said[at]?.fields ?? {}))
  return { kind: 'answer', answer: { choices }, usage }
}

function choiceOf(candidate: JsonObject, said: JsonObject): JsonObject {
  const logprobs = logprobsOf(candidate)
  return {
    index: candidate.index ?? 0,
    message: { role: 'assistant', content: null, ...said },
    finish_reason: finishReasonOf(candidate),
    ...(logprobs === undefined ? {} : { logprobs }),
  }
}
