import { fieldsOf, findExactAnswerJson, itemsOf, type JsonObject } from '../../../../wire/json-fields.ts'
import { failureOfBadAnswer, failureOfErrorBody, isErrorBody } from '../../../failure.ts'
import type { EventReader, ProviderEvent } from '../../../provider-adapter.ts'
import {
  type AnswerContext,
  blockedChoice,
  finishReasonOf,
  isFailedFinish,
  logprobsOf,
  readParts,
} from './candidate.ts'
import { laterCounts, usageOf } from './usage.ts'

type Reading = {
  readonly context: AnswerContext
  /** By the index of a candidate. */
  readonly callCounts: Map<unknown, number>
  counts: JsonObject | undefined
  hasContent: boolean
}

/** Each event is a response that goes on where the last one ended; none marks the end. */
export function createEventReader(context: AnswerContext): EventReader {
  const reading: Reading = { context, callCounts: new Map(), counts: undefined, hasContent: false }
  return {
    textKey: 'text',
    countsKey: 'usageMetadata',
    eventHead: 'data: ',
    read: (data) => readEvent(reading, data),
  }
}

function readEvent(reading: Reading, data: string): ProviderEvent {
  const body = findExactAnswerJson(data)
  if (isErrorBody(body)) return { kind: 'failed', failure: failureOfErrorBody(body, 'error_event') }
  const response = fieldsOf(body)
  if (response === undefined) return failedAs('malformed_chunk')
  const { usageMetadata } = response
  if (usageMetadata !== undefined) reading.counts = laterCounts(reading.counts, usageMetadata)
  const usage = usageMetadata === undefined ? undefined : usageOf(reading.counts)
  const blocked = blockedChoice(response)
  const candidates = itemsOf(response.candidates).map((candidate) => fieldsOf(candidate) ?? {})
  const choices =
    blocked === undefined ? candidates.map((candidate) => choiceOf(reading, candidate)) : [blocked]
  if (candidates.some(isFailedFinish) && !reading.hasContent) return failedAs('malformed_call')
  return { kind: 'chunk', chunk: { choices }, usage }
}

function choiceOf(reading: Reading, candidate: JsonObject): JsonObject {
  const { index = 0 } = candidate
  const callsBefore = reading.callCounts.get(index) ?? 0
  const { fields, callCount, isEmpty } = readParts(candidate, callsBefore, reading.context)
  reading.callCounts.set(index, callsBefore + callCount)
  if (!isEmpty) reading.hasContent = true
  const logprobs = logprobsOf(candidate)
  return {
    index,
    delta: fields,
    finish_reason: finishReasonOf(candidate),
    ...(logprobs === undefined ? {} : { logprobs }),
  }
}

function failedAs(result: string): ProviderEvent {
  return { kind: 'failed', failure: failureOfBadAnswer(result) }
}
