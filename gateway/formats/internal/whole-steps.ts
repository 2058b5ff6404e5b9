import { fieldsOf, type JsonObject, objectsIn } from '../../wire/json-fields.ts'
import type { ContentStep, FinishReason, Signed } from '../content-step.ts'

/** The steps of a choice that came whole, as a stream would have brought them. */
export function* stepsOf({
  message: given,
  finish_reason: reason,
}: JsonObject): Generator<ContentStep, void> {
  const message = fieldsOf(given) ?? {}
  const { reasoning_content: reasoning, content, refusal } = message
  if (isFilled(reasoning)) yield { kind: 'reasoning', text: reasoning }
  const details = objectsIn(message.reasoning_details)
  if (details.length > 0) yield { kind: 'details', details: details.map(numbered) }
  const signed = signedOf(message)
  if (isFilled(content)) yield { kind: 'text', text: content, logprobs: null, signed }
  else if (signed !== undefined) yield { kind: 'signed', signed }
  if (isFilled(refusal)) yield { kind: 'refusal', text: refusal }
  const annotations = objectsIn(message.annotations)
  if (annotations.length > 0) yield { kind: 'annotations', annotations }
  const images = objectsIn(message.images)
  if (images.length > 0) yield { kind: 'images', images }
  for (const [index, call] of objectsIn(message.tool_calls).entries()) yield* callSteps(index, call)
  yield* functionSteps(fieldsOf(message.function_call))
  yield { kind: 'finish', reason: reason as FinishReason }
}

function* callSteps(index: number, call: JsonObject): Generator<ContentStep, void> {
  const type = call.type === 'custom' ? 'custom' : 'function'
  const { name, arguments: written, input } = fieldsOf(call[type]) ?? {}
  const start = { index, id: String(call.id), type, name: String(name), signed: signedOf(call) } as const
  yield { kind: 'call', call: start }
  yield { kind: 'call_part', part: { index, type, text: String(written ?? input), signed: undefined } }
}

function* functionSteps(call: JsonObject | undefined): Generator<ContentStep, void> {
  if (call === undefined) return
  yield { kind: 'function', name: String(call.name) }
  yield { kind: 'function_part', text: String(call.arguments) }
}

function isFilled(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function signedOf({ extra_content: content }: JsonObject): Signed | undefined {
  const extra_content = fieldsOf(content)
  return extra_content && { extra_content }
}

/** Details of one response are apart, whether their provider numbers them or not. */
function numbered(detail: JsonObject, index: number): JsonObject {
  return Number.isInteger(detail.index) ? detail : { ...detail, index }
}
