import { fieldsOf, itemsOf, type JsonObject } from '../../../../wire/json-fields.ts'
import { findObjectInSteps } from '../../../../wire/json-in-steps.ts'
import { isText, joinTexts, stringLengthMax, type Text } from '../../../../wire/long-text.ts'
import { readArguments } from '../../call-arguments.ts'
import { type Part, writeTexts } from './content-parts.ts'
import { reject, type Writing } from './writing.ts'

/** The calls of one assistant message, and their results so far. */
export type OpenCalls = {
  readonly param: string
  readonly calls: readonly { readonly id: unknown; readonly name: string; result: Part | undefined }[]
}

/** An assistant's calls as parts, and what their results must match. */
export function* writeCalls(
  toolCalls: unknown,
  param: string,
  writing: Writing,
): Generator<undefined, { readonly parts: readonly Part[]; readonly open: OpenCalls }> {
  const parts: Part[] = []
  const calls: OpenCalls['calls'][number][] = []
  for (const [index, item] of itemsOf(toolCalls).entries()) {
    const call = fieldsOf(item) ?? {}
    const called = fieldsOf(call.function)
    const at = `${param}[${index}].function`
    if (typeof called?.name !== 'string') reject(writing, at, 'is required: this model has no other tools')
    const name = writing.names.sent(String(called?.name))
    const args = yield* readArguments(called?.arguments)
    if (typeof args === 'string') reject(writing, `${at}.arguments`, args)
    parts.push({ functionCall: { name, args }, ...signatureIn(call) })
    calls.push({ id: call.id, name, result: undefined })
  }
  return { parts, open: { param, calls } }
}

/** The signature of a call or of a message as it is sent back. Those of other providers were removed before. */
export function signatureIn({ extra_content }: JsonObject): JsonObject {
  const signature = fieldsOf(fieldsOf(extra_content)?.google)?.thought_signature
  return isText(signature) ? { thoughtSignature: signature } : {}
}

/** Adds the result in a tool's message to the call that it names. */
export function* takeResult(
  open: OpenCalls | undefined,
  message: JsonObject,
  param: string,
  writing: Writing,
): Generator<undefined, void> {
  const ofId = open?.calls.filter(({ id }) => id === message.tool_call_id) ?? []
  const call = ofId.find(({ result }) => result === undefined)
  if (ofId.length === 0)
    reject(writing, `${param}.tool_call_id`, 'must be the id of a call in the assistant message before it')
  else if (call === undefined) reject(writing, `${param}.tool_call_id`, 'must name a call without a result')
  else {
    const texts = writeTexts(message.content, `${param}.content`, writing).map(({ text }) => text)
    const response = yield* responseOf(joinTexts(texts.filter(isText)))
    call.result = { functionResponse: { name: call.name, response } }
  }
}

/** A result must be an object: any other text becomes one. */
function* responseOf(text: Text): Generator<undefined, JsonObject> {
  const mayBeObject = typeof text === 'string' && text.length <= stringLengthMax && /^\s*\{/.test(text)
  return (mayBeObject ? yield* findObjectInSteps(text) : undefined) ?? { result: text }
}

/** The results in the order of their calls; none while all are missing. */
export function writeResults({ calls, param }: OpenCalls, writing: Writing): readonly Part[] {
  const missing = calls.findIndex(({ result }) => result === undefined)
  if (missing !== -1)
    reject(writing, `${param}[${missing}].id`, 'has no result: add a tool message with this tool_call_id')
  return calls.map(({ result }) => result).filter((result) => result !== undefined)
}
