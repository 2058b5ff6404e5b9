import { fieldsOf, itemsOf, type JsonObject } from '../../../../wire/json-fields.ts'
import { markedContent } from '../../signature-origin.ts'
import type { ToolNames } from '../../tool-names.ts'

/** The facts that a response is read with: the names in its request, and the mark of its provider. */
export type AnswerContext = { readonly names: ToolNames; readonly own: string }

/** OpenAI's word for each reason to finish (https://ai.google.dev/api/generate-content#FinishReason, read 2026-11-20). */
const finishReasons: ReadonlyMap<unknown, string> = new Map([
  ['STOP', 'stop'],
  ['MAX_TOKENS', 'length'],
  ['CONTINUATION', 'length'],
  ...(
    [
      'SAFETY',
      'RECITATION',
      'LANGUAGE',
      'OTHER',
      'BLOCKLIST',
      'PROHIBITED_CONTENT',
      'SPII',
      'IMAGE_SAFETY',
      'IMAGE_PROHIBITED_CONTENT',
      'IMAGE_RECITATION',
      'IMAGE_OTHER',
    ] as const
  ).map((reason) => [reason, 'content_filter'] as const),
])

/** Reasons of a model that failed, and may not the next time. */
const failedFinishes: ReadonlySet<unknown> = new Set([
  'MALFORMED_FUNCTION_CALL',
  'UNEXPECTED_TOOL_CALL',
  'MALFORMED_RESPONSE',
])

/** Whether a candidate's end is a failure, unless something came before it. */
export function isFailedFinish(candidate: JsonObject): boolean {
  return failedFinishes.has(candidate.finishReason)
}

/** The end of a candidate in OpenAI's terms; `null` while it goes on. */
export function finishReasonOf({ finishReason }: JsonObject): string | null {
  if (typeof finishReason !== 'string' || finishReason === 'FINISH_REASON_UNSPECIFIED') return null
  return finishReasons.get(finishReason) ?? 'stop'
}

/** The only choice of a response to a prompt that was blocked; `undefined` if it was not. */
export function blockedChoice(response: JsonObject): JsonObject | undefined {
  const { blockReason } = fieldsOf(response.promptFeedback) ?? {}
  if (blockReason === undefined || itemsOf(response.candidates).length > 0) return undefined
  return { index: 0, finish_reason: 'content_filter' }
}

/** The content of a message or a delta. `toolCalls` have their place in `tool_calls`, after `callCount` earlier ones. */
export type Said = { readonly fields: JsonObject; readonly callCount: number; readonly isEmpty: boolean }

/**
 * The parts of a candidate. A signature is that of its call; one of a text or of anything else is the message's. Parts of
 * other kinds (what the provider's own tools did) are not for clients.
 */
export function readParts(candidate: JsonObject, callsBefore: number, context: AnswerContext): Said {
  const parts = itemsOf(fieldsOf(candidate.content)?.parts).map((part) => fieldsOf(part) ?? {})
  const calls = parts
    .filter(({ functionCall }) => fieldsOf(functionCall) !== undefined)
    .map((part, at) => callOf(part, callsBefore + at, context))
  const others = parts.filter(({ functionCall }) => fieldsOf(functionCall) === undefined)
  const content = textOf(others.filter(({ thought }) => thought !== true))
  const reasoning = textOf(others.filter(({ thought }) => thought === true))
  const images = others.flatMap((part) => imageOf(part))
  const signature = others.findLast(({ thoughtSignature }) => thoughtSignature !== undefined)
  const fields = {
    ...(content === undefined ? {} : { content }),
    ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
    ...(images.length > 0 ? { images } : {}),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
    ...(signature === undefined ? {} : signedContent(signature, context)),
  }
  const isEmpty = !content && !reasoning && images.length + calls.length === 0
  return { fields, callCount: calls.length, isEmpty }
}

function textOf(parts: readonly JsonObject[]): string | undefined {
  const texts = parts.map(({ text }) => text).filter((text) => typeof text === 'string')
  return texts.length === 0 ? undefined : texts.join('')
}

function callOf(part: JsonObject, index: number, context: AnswerContext): JsonObject {
  const { id, name, args } = fieldsOf(part.functionCall) ?? {}
  const called = typeof name === 'string' ? context.names.original(name) : name
  return {
    index,
    ...(typeof id === 'string' ? { id } : {}),
    type: 'function',
    function: { name: called, arguments: JSON.stringify(args ?? {}) },
    ...(part.thoughtSignature === undefined ? {} : signedContent(part, context)),
  }
}

function signedContent({ thoughtSignature }: JsonObject, { own }: AnswerContext): JsonObject {
  return { extra_content: markedContent({ google: { thought_signature: thoughtSignature } }, own) }
}

function imageOf({ inlineData }: JsonObject): readonly JsonObject[] {
  const { mimeType, data } = fieldsOf(inlineData) ?? {}
  if (typeof mimeType !== 'string' || !mimeType.startsWith('image/') || typeof data !== 'string') return []
  return [{ type: 'image_url', image_url: { url: `data:${mimeType};base64,${data}` } }]
}

/** Log probabilities in OpenAI's shape; `undefined` if there are none. */
export function logprobsOf({ logprobsResult }: JsonObject): JsonObject | undefined {
  const { chosenCandidates, topCandidates } = fieldsOf(logprobsResult) ?? {}
  const top = itemsOf(topCandidates)
  const content = itemsOf(chosenCandidates).map((chosen, at) => ({
    ...tokenOf(chosen),
    top_logprobs: itemsOf(fieldsOf(top[at])?.candidates).map(tokenOf),
  }))
  return content.length === 0 ? undefined : { content }
}

function tokenOf(given: unknown): JsonObject {
  const { token, logProbability } = fieldsOf(given) ?? {}
  const bytes = typeof token === 'string' ? [...Buffer.from(token)] : null
  return { token, logprob: logProbability ?? 0, bytes }
}
