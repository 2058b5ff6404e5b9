import type { Delivered } from '../../exchange/delivered-text.ts'
import type { SecretSearch } from '../../upstream/secret-search.ts'
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
import { createShownTexts, type ShownTexts } from './shown-texts.ts'
import {
  createToolCallStream,
  type ToolCallDelta,
  type ToolCallStream,
  textOfCall,
  withText,
} from './tool-call-stream.ts'

/** One choice of a streamed answer, while it grows. */
export type ChoiceStream = {
  readonly toolCalls: ToolCallStream
  /** All content received, including what is held back or hidden. */
  readonly delivered: Delivered
  readonly shown: ShownTexts
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

/** The result of a provider's choice: chunks to write in order, or why it cannot be written. */
export type ChoiceStep = readonly ChoicePiece[] | 'malformed' | 'failed'

const nothing: readonly ChoicePiece[] = []

/**
 * A choice without content yet. `makeCallId` names its tool calls that come without an id; what `search`
 * finds is not shown.
 */
export function createChoiceStream(
  delivered: ChoiceStream['delivered'],
  search: SecretSearch | undefined,
  makeCallId: (call: number) => string,
): ChoiceStream {
  return {
    toolCalls: createToolCallStream(makeCallId),
    delivered,
    shown: createShownTexts(search),
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

function reasoningPiece(reasoning: string): ChoicePiece {
  return `"delta":{"reasoning_content":${JSON.stringify(reasoning)}},"finish_reason":null`
}

function refusalPiece(refusal: string): ChoicePiece {
  return `"delta":{"refusal":${JSON.stringify(refusal)}},"finish_reason":null`
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
  return [...releaseHeld(choice), ...rest.map(toolPiece), `"delta":{},"finish_reason":"${reason}"`]
}

/** The held-back content of a choice that has ended. */
export function releaseHeld({ shown }: ChoiceStream): readonly ChoicePiece[] {
  if (!shown.isHolding()) return nothing
  const pieces: ChoicePiece[] = []
  shown.release(pieces)
  const logprobs = shown.releaseLogprobs()
  if (logprobs !== null) pieces.push(deltaPiece({ content: '' }, logprobs))
  return pieces
}

function addSaid(choice: ChoiceStream, said: Said, givenLogprobs: unknown, pieces: ChoicePiece[]): void {
  const { reasoning, refusal, details, annotations } = said
  addReasoning(choice, said)
  if (reasoning) addText(choice, 'reasoning_content', reasoning, reasoningPiece, pieces)
  if (details.length > 0) {
    addWhole(choice, { reasoning_details: numbered(details, choice.detailCount) }, pieces)
    choice.detailCount += details.length
  }
  addContent(choice, said, givenLogprobs, pieces)
  if (refusal) {
    choice.delivered.output.add(refusal)
    addText(choice, 'refusal', refusal, refusalPiece, pieces)
  }
  if (annotations.length > 0) {
    addPassedOn(choice, annotations)
    addWhole(choice, { annotations: numbered(annotations, choice.annotationCount) }, pieces)
    choice.annotationCount += annotations.length
  }
  addMedia(choice, said, pieces)
}

function addContent(
  choice: ChoiceStream,
  { content, signed }: Said,
  givenLogprobs: unknown,
  pieces: ChoicePiece[],
): void {
  const logprobs = givenLogprobs ? logprobsOf(givenLogprobs) : null
  if (content || logprobs !== null) {
    choice.delivered.output.add(content ?? '')
    const text = choice.shown.grow('content', content ?? '', contentPiece, pieces)
    const shownLogprobs = logprobs && choice.shown.showLogprobs(logprobs)
    if (signed !== undefined || shownLogprobs !== null)
      pieces.push(deltaPiece({ content: text, ...fieldsOf(choice.shown.showNow('', signed)) }, shownLogprobs))
    else if (text !== '') pieces.push(contentPiece(text))
  } else if (signed !== undefined) addWhole(choice, signed, pieces)
  if (signed !== undefined) addPassedOn(choice, signed)
}

/** The pieces of a delta that is content and nothing else, which the caller counts as delivered. */
export function sayContent(choice: ChoiceStream, content: string): readonly ChoicePiece[] {
  const pieces: ChoicePiece[] = []
  addText(choice, 'content', content, contentPiece, pieces)
  return pieces
}

/** Adds a piece of a text that grows from delta to delta. */
function addText(
  { shown }: ChoiceStream,
  field: string,
  piece: string,
  write: (text: string) => ChoicePiece,
  pieces: ChoicePiece[],
): void {
  const text = shown.grow(field, piece, write, pieces)
  if (text !== '') pieces.push(write(text))
}

/** Adds a delta that passes as it is. */
function addWhole({ shown }: ChoiceStream, delta: object, pieces: ChoicePiece[]): void {
  shown.release(pieces)
  pieces.push(deltaPiece(shown.showNow('', delta)))
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
    addWhole(choice, { images: numbered(images, choice.imageCount) }, pieces)
    choice.imageCount += images.length
    media.images += images.length
  }
  if (audio !== undefined) {
    addWhole(choice, { audio }, pieces)
    const { words, length } = measureAudio(audio)
    output.add(words)
    media.soundLength += length
  }
}

function deltaPiece(delta: unknown, logprobs: JsonObject | null = null): ChoicePiece {
  const logprobsPiece = logprobs === null ? '' : `"logprobs":${JSON.stringify(logprobs)},`
  return `"delta":${JSON.stringify(delta)},${logprobsPiece}"finish_reason":null`
}

/**
 * SDKs combine the items of lists by their `index`, and raise if it is missing. `from`: items before these.
 */
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
    addToolDelta(choice, delta, pieces)
  }
  return true
}

function addToolDelta(choice: ChoiceStream, delta: ToolCallDelta, pieces: ChoicePiece[]): void {
  if ('id' in delta || delta.extra_content !== undefined) addWhole(choice, { tool_calls: [delta] }, pieces)
  else {
    const field = `tool_calls.${delta.index}.${'custom' in delta ? 'custom.input' : 'function.arguments'}`
    addText(choice, field, textOfCall(delta), (text) => toolPiece(withText(delta, text)), pieces)
  }
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
    addWhole(choice, { function_call: { name, arguments: '' } }, pieces)
  }
  if (fragment === '') return true
  choice.delivered.output.add(fragment)
  addText(choice, 'function_call.arguments', fragment, argumentsPiece, pieces)
  return true
}

function argumentsPiece(text: string): ChoicePiece {
  return deltaPiece({ function_call: { arguments: text } })
}
