import type { FinishReason, Signed } from '../../formats/content-step.ts'
import { fieldsOf, itemsOf, type JsonObject } from '../../wire/json-fields.ts'

/** Other finish reasons that providers send. */
const finishReasons: ReadonlyMap<string, FinishReason> = new Map([
  ['stop', 'stop'],
  ['length', 'length'],
  ['tool_calls', 'tool_calls'],
  ['content_filter', 'content_filter'],
  ['function_call', 'function_call'],
  ['max_tokens', 'length'],
  ['model_length', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_use', 'tool_calls'],
  ['tool_call', 'tool_calls'],
  ['sensitive', 'content_filter'],
  ['safety', 'content_filter'],
  ['recitation', 'content_filter'],
  ['blacklist', 'content_filter'],
  ['refusal', 'content_filter'],
])

/** Failures that providers report as a finish reason. */
const failedFinishes: ReadonlySet<string> = new Set(['error', 'network_error', 'abort'])

/**
 * A provider's end of a choice in OpenAI's terms; `failed` if it reports that generation broke.
 *
 * Unknown values (`eos`, `end_turn`, …) are a `stop`. A choice that called tools ends with `tool_calls`,
 * because agents would stop early otherwise.
 */
export function finishReasonOf(
  given: string,
  called: { readonly tools: boolean; readonly function: boolean },
): FinishReason | 'failed' {
  const word = given.toLowerCase()
  if (failedFinishes.has(word)) return 'failed'
  const reason = finishReasons.get(word) ?? 'stop'
  if (called.tools && (reason === 'stop' || reason === 'function_call')) return 'tool_calls'
  if (called.function && reason === 'stop') return 'function_call'
  return reason
}

/** The stop sequence that ended a choice, as vLLM and SGLang return it; `undefined`: none did, or its provider does not report it. */
export function stopSequenceOf({
  stop_reason: reason,
  matched_stop: matched,
}: JsonObject): string | undefined {
  const reported = reason ?? matched
  return typeof reported === 'string' ? reported : undefined // a number is a token that ends every text
}

/**
 * The content of one message or delta of a model, images and sound too, with list-typed content flattened;
 * `undefined`: wrong type.
 */
export type Said = {
  readonly content: string | null
  readonly reasoning: string | null
  readonly refusal: string | null
  /** `reasoning_details`: the reasoning in pieces that the provider signed, as they came; it wants them back. */
  readonly details: readonly JsonObject[]
  readonly signed: Signed | undefined
  /** The unchanged results of a search. */
  readonly annotations: readonly JsonObject[]
  readonly images: readonly JsonObject[]
  readonly audio: JsonObject | undefined
}

/** The transcript of sound, if it has one, and the length of its data. */
export function measureAudio({ transcript, data }: JsonObject): { words: string; length: number } {
  return {
    words: typeof transcript === 'string' ? transcript : '',
    length: typeof data === 'string' ? data.length : 0,
  }
}

/**
 * The content of fields that are passed on unchanged: the text of all of them, and the length of the rest,
 * which only its provider can read.
 */
export type PassedOn = { readonly text: string; readonly opaqueLength: number }

const opaque: readonly string[] = ['data', 'signature', 'thought_signature', 'encrypted_content']
/** Their values are words of the wire and not of the model. */
const wireWords: readonly string[] = ['type', 'id', 'format', 'origin']

/** Measures annotations, reasoning in pieces, signatures: whatever depth they have, since answers are bounded in that. */
export function measurePassedOn(value: unknown, name = ''): PassedOn {
  if (typeof value === 'string')
    return opaque.includes(name) ? { text: '', opaqueLength: value.length } : { text: value, opaqueLength: 0 }
  if (typeof value !== 'object' || value === null) return nothingPassedOn
  const texts: string[] = []
  let opaqueLength = 0
  for (const [key, inner] of Object.entries(value)) {
    if (wireWords.includes(key)) continue
    const measured = measurePassedOn(inner, Array.isArray(value) ? name : key)
    if (measured.text !== '') texts.push(measured.text)
    opaqueLength += measured.opaqueLength
  }
  return { text: texts.join(''), opaqueLength }
}

const nothingPassedOn: PassedOn = { text: '', opaqueLength: 0 }

/** The text of reasoning that came as text, in pieces, or both ways, as some send it: then once. */
export function reasoningText(reasoning: string | null, { text }: PassedOn): string {
  return reasoning !== null && reasoning.length >= text.length ? reasoning : text
}

/** The signature of a call, a message or a delta, or `undefined` if it has none. */
export function findSigned(given: JsonObject): Signed | undefined {
  const extra_content = filledOf(given.extra_content)
  return extra_content && { extra_content }
}

/** Reads the fields of a message or delta, or returns `undefined` if one has a type that cannot be shown. */
export function readSaid(fields: JsonObject): Said | undefined {
  const { content, refusal = null } = fields
  const reasoning = fields.reasoning_content ?? fields.reasoning ?? null
  if (refusal !== null && typeof refusal !== 'string') return undefined
  // Some providers send a custom object as `reasoning`; it is an extra field, not part of the content.
  const thought = typeof reasoning === 'string' ? reasoning : null
  if (typeof content === 'string' || content === null || content === undefined)
    return saidOf(fields, content ?? null, thought, refusal)
  if (!Array.isArray(content)) return undefined
  const parts = content.map((part) => fieldsOf(part) ?? {})
  const thinking = parts.flatMap((part) => (part.type === 'thinking' ? textOf(part.thinking) : []))
  const text = parts.flatMap((part) => (typeof part.text === 'string' ? part.text : []))
  const said = text.length === 0 ? null : text.join('')
  return saidOf(fields, said, thinking.length === 0 ? thought : thinking.join(''), refusal)
}

function saidOf(
  fields: JsonObject,
  content: string | null,
  reasoning: string | null,
  refusal: string | null,
): Said {
  return {
    content,
    reasoning,
    refusal,
    details: objectsOf(fields.reasoning_details),
    signed: findSigned(fields),
    annotations: objectsOf(fields.annotations),
    images: objectsOf(fields.images),
    audio: filledOf(fields.audio),
  }
}

function filledOf(value: unknown): JsonObject | undefined {
  const fields = fieldsOf(value)
  return fields && Object.keys(fields).length > 0 ? fields : undefined
}

const noObjects: readonly JsonObject[] = []

function objectsOf(list: unknown): readonly JsonObject[] {
  if (!Array.isArray(list) || list.length === 0) return noObjects
  return list.map(fieldsOf).filter((item) => item !== undefined)
}

/** Magistral's thinking is a list of text parts; others send a string. */
function textOf(thinking: unknown): readonly string[] {
  if (typeof thinking === 'string') return [thinking]
  return itemsOf(thinking).flatMap((part) => {
    const text = fieldsOf(part)?.text
    return typeof text === 'string' ? text : []
  })
}

/** A call's arguments as JSON text: objects are written out; absent is ''. `undefined`: wrong type. */
export function argumentsOf(given: unknown): string | undefined {
  if (typeof given === 'string') return given
  if (given === null || given === undefined) return ''
  return typeof given === 'object' ? JSON.stringify(given) : undefined
}

/**
 * Log probabilities with every field that OpenAI's schema requires, or `null` if there are none in its
 * format.
 */
export function logprobsOf(given: unknown): JsonObject | null {
  const fields = fieldsOf(given)
  if (fields === undefined || !(Array.isArray(fields.content) || Array.isArray(fields.refusal))) return null
  const content = tokensOf(fields.content)
  const refusal = tokensOf(fields.refusal)
  return content?.length || refusal?.length ? { content, refusal } : null
}

function tokensOf(list: unknown): readonly JsonObject[] | null {
  if (!Array.isArray(list)) return null
  return list.flatMap((item) => {
    const token = tokenOf(item)
    return token === undefined ? [] : { ...token, top_logprobs: likelyOf(token.top_logprobs) }
  })
}

/** The likely alternatives to a token; they do not have such lists themselves. */
function likelyOf(list: unknown): readonly JsonObject[] {
  return itemsOf(list)
    .map(tokenOf)
    .filter((token) => token !== undefined)
}

function tokenOf(item: unknown): JsonObject | undefined {
  const fields = fieldsOf(item)
  if (typeof fields?.token !== 'string' || typeof fields.logprob !== 'number') return undefined
  return { ...fields, bytes: fields.bytes ?? null }
}

/** The joined text of tokens. */
export function textOfTokens(tokens: readonly unknown[]): string {
  return tokens.map((token) => fieldsOf(token)?.token ?? '').join('')
}

const serviceTiers: readonly unknown[] = ['auto', 'default', 'flex', 'scale', 'priority', 'fast']

/** Fields about the whole answer that pass as they are, where their type is right. */
export function extrasOf(fields: JsonObject): JsonObject {
  const { system_fingerprint, service_tier } = fields
  return {
    ...(typeof system_fingerprint === 'string' ? { system_fingerprint } : {}),
    ...(serviceTiers.includes(service_tier) ? { service_tier } : {}),
  }
}

/** Further fields of a non-streaming response: what a moderation found, and the caller's own metadata of a stored answer. */
export function notesOf(fields: JsonObject): JsonObject {
  const moderation = findModeration(fields)
  const metadata = fieldsOf(fields.metadata)
  const isText = (value: unknown) => typeof value === 'string'
  return {
    ...(metadata !== undefined && Object.values(metadata).every(isText) ? { metadata } : {}),
    ...(moderation === undefined ? {} : { moderation }),
  }
}

/** The unchanged moderation result of prompt and response, if OpenAI's SDKs can read it. */
export function findModeration({ moderation }: JsonObject): JsonObject | undefined {
  const found = fieldsOf(moderation)
  return [found?.input, found?.output].every((part) => typeof fieldsOf(part)?.type === 'string')
    ? found
    : undefined
}
