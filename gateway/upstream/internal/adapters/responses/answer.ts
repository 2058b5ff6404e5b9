import { fieldsOf, type JsonObject, objectsIn } from '../../../../wire/json-fields.ts'
import { failureOfBadAnswer, failureOfErrorBody, isErrorBody } from '../../../failure.ts'
import type { OwnAnswer, WholeAnswer } from '../../../provider-adapter.ts'
import { finishOf } from './finish.ts'
import { citationsIn, hiddenDetailOf, namedCall, type ResponsesReading } from './items.ts'
import { forbiddenToolOf } from './server-tools.ts'
import { chatUsageOf } from './usage.ts'

/** A whole response as OpenAI's completion of one choice. */
export function readOwnAnswer(response: JsonObject, { allowed, origin }: ResponsesReading): OwnAnswer {
  return {
    read: wholeOf(response, origin),
    serverTools: objectsIn(response.output).flatMap((item) => forbiddenToolOf(item, allowed) ?? []),
  }
}

function wholeOf(response: JsonObject, origin: string): WholeAnswer {
  if (isErrorBody(response) || response.status === 'failed')
    return { kind: 'failed', failure: failureOfErrorBody(response, 'error_in_answer') }
  if (!Array.isArray(response.output) || !isOver(response.status))
    return { kind: 'failed', failure: failureOfBadAnswer('malformed_answer') }
  const choice = { index: 0, message: messageOf(response.output, origin), finish_reason: finishOf(response) }
  return { kind: 'answer', answer: { choices: [choice] }, usage: chatUsageOf(response.usage) }
}

/** A response that goes on in the background is none. */
function isOver(status: unknown): boolean {
  return status === undefined || status === 'completed' || status === 'incomplete'
}

function messageOf(output: readonly unknown[], origin: string): JsonObject {
  const items = objectsIn(output)
  const parts = items.filter(({ type }) => type === 'message').flatMap(({ content }) => objectsIn(content))
  const thoughts = items
    .filter(({ type }) => type === 'reasoning')
    .flatMap(({ summary, content }) => [...objectsIn(summary), ...objectsIn(content)])
  const details = items
    .filter(({ encrypted_content: data }) => data)
    .flatMap((item, index) => hiddenDetailOf(item, origin, index) ?? [])
  const calls = items
    .filter(({ call_id: id, name }) => typeof id === 'string' && typeof name === 'string' && name !== '')
    .map((item) => namedCall(item, item.arguments ?? item.input ?? ''))
  const texts = textsOf(parts, 'text')
  const annotations = citationsIn(items)
  const refusals = textsOf(parts, 'refusal')
  return {
    content: texts.length === 0 ? null : texts.join(''),
    refusal: refusals.length === 0 ? null : refusals.join(''),
    ...(thoughts.length === 0 ? {} : { reasoning_content: textsOf(thoughts, 'text').join('') }),
    ...(annotations === undefined ? {} : { annotations }),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
}

function textsOf(parts: readonly JsonObject[], name: string): readonly string[] {
  return parts.flatMap((part) => {
    const text = fieldsOf(part)?.[name]
    return typeof text === 'string' ? text : []
  })
}
