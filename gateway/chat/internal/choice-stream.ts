import type { Delivered } from '../../exchange/delivered-text.ts'
import { fieldsOf, type JsonObject } from '../../wire/json-fields.ts'
import {
  argumentsOf,
  type FinishReason,
  finishReasonOf,
  logprobsOf,
  measureAudio,
  measurePassedOn,
  readSaid,
  reasoningText,
  type Said,
} from './answer-fields.ts'
import { createToolCallStream, type ToolCallStream, textOfCall } from './tool-call-stream.ts'

/** One choice of a streamed answer, while it grows. */
export type ChoiceStream = {
  readonly toolCalls: ToolCallStream
  readonly delivered: Delivered
  finish: FinishReason | undefined
  /** Of `reasoning_details`. */
  detailCount: number
  annotationCount: number
  imageCount: number
  /** Of the deprecated `function_call`. */
  functionNamed: boolean
}

/** The inside of a chunk's choice after its index, as JSON text: `"delta":{…},"finish_reason":…`. */
export type ChoicePiece = string

/** What a provider's choice means: pieces to write in order, or why it cannot be written. */
export type ChoiceStep = readonly ChoicePiece[] | 'malformed' | 'failed'

const nothing: readonly ChoicePiece[] = []

/** A choice that has not said anything. `makeCallId` names its tool calls that come without an id. */
export function createChoiceStream(
  delivered: ChoiceStream['delivered'],
  makeCallId: (call: number) => string,
): ChoiceStream {
  return {
    toolCalls: createToolCallStream(makeCallId),
    delivered,
    finish: undefined,
    detailCount: 0,
    annotationCount: 0,
    imageCount: 0,
    functionNamed: false,
  }
}

/** The first piece of every choice. OpenAI's content is null where a tool call follows, else ''. */
export function rolePiece(follows: 'text' | 'call'): ChoicePiece {
  const content = follows === 'call' ? 'null' : '""'
  return `"delta":{"role":"assistant","content":${content},"refusal":null},"finish_reason":null`
}

/** A piece of text and nothing else. */
export function contentPiece(content: string): ChoicePiece {
  return `"delta":{"content":${JSON.stringify(content)}},"finish_reason":null`
}

/** Takes one choice of a provider's chunk; the role is the caller's to write. After the finish nothing is taken. */
export function acceptChoice(choice: ChoiceStream, given: JsonObject): ChoiceStep {
  if (choice.finish !== undefined) return nothing
  const delta = fieldsOf(given.delta ?? {})
  const said = delta && readSaid(delta)
  if (delta === undefined || said === undefined) return 'malformed'
  const pieces: ChoicePiece[] = []
  addSaid(choice, said, given.logprobs, pieces)
  if (!addToolCalls(choice, delta.tool_calls ?? undefined, pieces)) return 'malformed'
  if (!addFunctionCall(choice, fieldsOf(delta.function_call), pieces)) return 'malformed'
  // Some send "" where others send null.
  const finish = given.finish_reason || undefined
  if (finish === undefined) return pieces
  if (typeof finish !== 'string') return 'malformed'
  const last = finishChoice(choice, finish)
  return typeof last === 'string' ? last : [...pieces, ...last]
}

/** The last pieces of a choice that ends for the reason that its provider gave. */
export function finishChoice(choice: ChoiceStream, given: string): ChoiceStep {
  const called = { tools: choice.toolCalls.count() > 0, function: choice.functionNamed }
  const reason = finishReasonOf(given, called)
  if (reason === 'failed') return 'failed'
  const rest = choice.toolCalls.end()
  if (rest === undefined) return 'malformed'
  choice.finish = reason
  return [...rest.map(toolPiece), `"delta":{},"finish_reason":"${reason}"`]
}

function addSaid(choice: ChoiceStream, said: Said, givenLogprobs: unknown, pieces: ChoicePiece[]): void {
  const { content, reasoning, refusal, details, signed, annotations } = said
  const logprobs = givenLogprobs ? logprobsOf(givenLogprobs) : null
  addReasoning(choice, said)
  if (reasoning) {
    pieces.push(`"delta":{"reasoning_content":${JSON.stringify(reasoning)}},"finish_reason":null`)
  }
  if (details.length > 0) {
    pieces.push(deltaPiece({ reasoning_details: numbered(details, choice.detailCount) }))
    choice.detailCount += details.length
  }
  if (content || logprobs !== null) {
    choice.delivered.output.add(content ?? '')
    if (logprobs === null && signed === undefined) pieces.push(contentPiece(content ?? ''))
    else pieces.push(deltaPiece({ content: content ?? '', ...signed }, logprobs))
  } else if (signed !== undefined) pieces.push(deltaPiece(signed))
  if (signed !== undefined) addPassedOn(choice, signed)
  if (refusal) {
    choice.delivered.output.add(refusal)
    pieces.push(`"delta":{"refusal":${JSON.stringify(refusal)}},"finish_reason":null`)
  }
  if (annotations.length > 0) {
    addPassedOn(choice, annotations)
    pieces.push(deltaPiece({ annotations: numbered(annotations, choice.annotationCount) }))
    choice.annotationCount += annotations.length
  }
  addMedia(choice, said, pieces)
}

function addReasoning({ delivered }: ChoiceStream, { reasoning, details }: Said): void {
  if (details.length === 0) {
    if (reasoning) delivered.reasoning.add(reasoning)
    return
  }
  const inDetails = measurePassedOn(details)
  delivered.reasoning.add(reasoningText(reasoning, inDetails))
  delivered.media.opaqueLength += inDetails.opaqueLength
}

function addPassedOn({ delivered }: ChoiceStream, value: object): void {
  const { text, opaqueLength } = measurePassedOn(value)
  delivered.output.add(text)
  delivered.media.opaqueLength += opaqueLength
}

function addMedia(choice: ChoiceStream, { images, audio }: Said, pieces: ChoicePiece[]): void {
  const { output, media } = choice.delivered
  if (images.length > 0) {
    pieces.push(deltaPiece({ images: numbered(images, choice.imageCount) }))
    choice.imageCount += images.length
    media.images += images.length
  }
  if (audio !== undefined) {
    pieces.push(deltaPiece({ audio }))
    const { words, length } = measureAudio(audio)
    output.add(words)
    media.soundLength += length
  }
}

function deltaPiece(delta: object, logprobs: JsonObject | null = null): ChoicePiece {
  const logprobsPiece = logprobs === null ? '' : `"logprobs":${JSON.stringify(logprobs)},`
  return `"delta":${JSON.stringify(delta)},${logprobsPiece}"finish_reason":null`
}

/** SDKs put the items of lists together by their `index`, and raise where there is none. `from`: items before these. */
function numbered(items: readonly JsonObject[], from: number): readonly JsonObject[] {
  return items.map((item, at) => (Number.isInteger(item.index) ? item : { ...item, index: from + at }))
}

function addToolCalls(choice: ChoiceStream, given: unknown, pieces: ChoicePiece[]): boolean {
  if (given === undefined) return true
  const deltas = choice.toolCalls.accept(given)
  if (deltas === undefined) return false
  for (const delta of deltas) {
    choice.delivered.output.add(textOfCall(delta))
    if (delta.extra_content !== undefined) addPassedOn(choice, delta.extra_content)
    pieces.push(toolPiece(delta))
  }
  return true
}

function toolPiece(delta: object): ChoicePiece {
  return `"delta":{"tool_calls":[${JSON.stringify(delta)}]},"finish_reason":null`
}

function addFunctionCall(
  choice: ChoiceStream,
  given: JsonObject | undefined,
  pieces: ChoicePiece[],
): boolean {
  if (given === undefined) return true
  const fragment = argumentsOf(given.arguments)
  if (fragment === undefined) return false
  const { name } = given
  if (!choice.functionNamed) {
    if (typeof name !== 'string' || name === '') return false
    choice.functionNamed = true
    choice.delivered.output.add(name)
    pieces.push(functionPiece({ name, arguments: '' }))
  }
  if (fragment === '') return true
  choice.delivered.output.add(fragment)
  pieces.push(functionPiece({ arguments: fragment }))
  return true
}

function functionPiece(call: object): ChoicePiece {
  return `"delta":{"function_call":${JSON.stringify(call)}},"finish_reason":null`
}
