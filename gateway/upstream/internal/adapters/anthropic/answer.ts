import { fieldsOf, findExactAnswerJson, type JsonObject, objectsIn } from '../../../../wire/json-fields.ts'
import { failureOfBadAnswer, failureOfErrorBody, isErrorBody } from '../../../failure.ts'
import type { OwnAnswer, WholeAnswer } from '../../../provider-adapter.ts'
import { type AnthropicReading, finishOf, hiddenDetail, refusalOf, thoughtDetail } from './blocks.ts'
import { forbiddenToolOf } from './server-tools.ts'
import type { OwnReading } from './stream.ts'
import { usageOf, withReport } from './usage.ts'

/** A whole message as OpenAI's completion of one choice. */
export function readAnswer(text: string, reading: AnthropicReading): WholeAnswer {
  return wholeOf(findExactAnswerJson(text), reading)
}

/** The same of a message that is relayed. */
export function readOwnAnswer(message: JsonObject, reading: OwnReading): OwnAnswer {
  return {
    read: wholeOf(message, reading),
    serverTools: objectsIn(message.content).flatMap((block) => forbiddenToolOf(block, reading.allowed) ?? []),
  }
}

function wholeOf(body: unknown, reading: AnthropicReading): WholeAnswer {
  if (isErrorBody(body)) return { kind: 'failed', failure: failureOfErrorBody(body, 'error_in_answer') }
  const answer = fieldsOf(body)
  if (answer === undefined || !Array.isArray(answer.content))
    return { kind: 'failed', failure: failureOfBadAnswer('malformed_answer') }
  const { stop_reason: stopReason } = answer
  const message = {
    ...messageOf(answer.content, reading),
    ...refusalOf(stopReason, fieldsOf(answer.stop_details)?.explanation),
  }
  return {
    kind: 'answer',
    answer: { choices: [{ index: 0, message, finish_reason: finishOf(stopReason) }] },
    usage: usageOf(withReport({}, answer.usage)),
  }
}

function messageOf(content: readonly unknown[], { nameOf, origin }: AnthropicReading): JsonObject {
  const blocks = content.map((block) => fieldsOf(block) ?? {})
  const texts = blocks.flatMap(({ type, text }) => (type === 'text' && typeof text === 'string' ? text : []))
  const thoughts = blocks.filter(({ type }) => type === 'thinking')
  const details = blocks
    .filter(({ type }) => type === 'thinking' || type === 'redacted_thinking')
    .map((block, index) =>
      block.type === 'thinking'
        ? thoughtDetail(index, origin, { text: block.thinking, signature: block.signature })
        : hiddenDetail(index, origin, block.data),
    )
  const calls = blocks
    .filter(({ type }) => type === 'tool_use')
    .map(({ id, name, input }) => ({
      id,
      type: 'function',
      function: { name: nameOf(String(name)), arguments: input },
    }))
  return {
    content: texts.length === 0 ? null : texts.join(''),
    ...(thoughts.length === 0
      ? {}
      : { reasoning_content: thoughts.map(({ thinking }) => thinking ?? '').join('') }),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
}
