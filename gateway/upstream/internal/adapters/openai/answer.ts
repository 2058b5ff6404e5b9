import { fieldsOf, findAnswerJson } from '../../../../wire/json-fields.ts'
import { failureOfBadAnswer, failureOfErrorBody, isErrorBody } from '../../../failure.ts'
import type { WholeAnswer } from '../../../provider-adapter.ts'
import { findUsage } from './usage.ts'

/** A whole response; some send their errors with status 200. */
export function readAnswer(text: string): WholeAnswer {
  const body = findAnswerJson(text)
  if (isErrorBody(body)) return { kind: 'failed', failure: failureOfErrorBody(body, 'error_in_answer') }
  const answer = fieldsOf(body)
  if (answer === undefined) return { kind: 'failed', failure: failureOfBadAnswer('malformed_answer') }
  return { kind: 'answer', answer, usage: findUsage(answer) }
}
