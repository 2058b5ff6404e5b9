import type { Delivered } from '../../exchange/delivered-text.ts'
import type { ContentStep, FinishReason } from '../../formats/content-step.ts'
import type { SecretSearch } from '../../upstream/secret-search.ts'
import { fieldsOf, type JsonObject } from '../../wire/json-fields.ts'
import {
  argumentsOf,
  finishReasonOf,
  logprobsOf,
  measureAudio,
  measurePassedOn,
  readSaid,
  reasoningText,
  type Said,
  stopSequenceOf,
} from './answer-fields.ts'
import { createShownTexts, type ShownTexts } from './shown-texts.ts'
import {
  createToolCallStream,
  type ToolCallStep,
  type ToolCallStream,
  textOfCall,
} from './tool-call-stream.ts'

/** One choice of a streamed answer, while it grows. */
export type ChoiceStream = {
  readonly toolCalls: ToolCallStream
  /** All content received, including what is held back or hidden. */
  readonly delivered: Delivered
  readonly shown: ShownTexts<ContentStep>
  finish: FinishReason | undefined
  /** Of `reasoning_details`. */
  detailCount: number
  annotationCount: number
  imageCount: number
  /** Of the deprecated `function_call`. */
  functionNamed: boolean
}

/** The result of a provider's choice: its steps in order, or why it cannot be written. */
export type ChoiceStep = readonly ContentStep[] | 'malformed' | 'failed'

const nothing: readonly ContentStep[] = []

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

/** The step of a text and nothing else. */
function textStep(text: string): ContentStep {
  return { kind: 'text', text, logprobs: null, signed: undefined }
}

const reasoningStep = (text: string): ContentStep => ({ kind: 'reasoning', text })
const refusalStep = (text: string): ContentStep => ({ kind: 'refusal', text })
const functionPartStep = (text: string): ContentStep => ({ kind: 'function_part', text })

/** Takes one choice of a provider's chunk. After the finish nothing is taken. */
export function acceptChoice(choice: ChoiceStream, given: JsonObject): ChoiceStep {
  if (choice.finish !== undefined) return nothing
  const delta = fieldsOf(given.delta ?? {})
  const said = delta && readSaid(delta)
  if (delta === undefined || said === undefined) return 'malformed'
  const steps: ContentStep[] = []
  addSaid(choice, said, given.logprobs, steps)
  if (!addToolCalls(choice, delta.tool_calls ?? undefined, steps)) return 'malformed'
  if (!addFunctionCall(choice, fieldsOf(delta.function_call), steps)) return 'malformed'
  // Some send "" where others send null.
  const finish = given.finish_reason || undefined
  if (finish === undefined) return steps
  if (typeof finish !== 'string') return 'malformed'
  const last = finishChoice(choice, finish, stopSequenceOf(given))
  return typeof last === 'string' ? last : [...steps, ...last]
}

/** The last steps of a choice that ends for the reason that its provider gave. */
export function finishChoice(choice: ChoiceStream, given: string, stopSequence?: string): ChoiceStep {
  const called = { tools: choice.toolCalls.count() > 0, function: choice.functionNamed }
  const reason = finishReasonOf(given, called)
  if (reason === 'failed') return 'failed'
  const rest = choice.toolCalls.end()
  if (rest === undefined) return 'malformed'
  choice.finish = reason
  const finish = { kind: 'finish', reason, ...(stopSequence === undefined ? {} : { stopSequence }) } as const
  return [...releaseHeld(choice), ...rest, finish]
}

/** The held-back content of a choice that has ended. */
export function releaseHeld({ shown }: ChoiceStream): readonly ContentStep[] {
  if (!shown.isHolding()) return nothing
  const steps: ContentStep[] = []
  shown.release(steps)
  const logprobs = shown.releaseLogprobs()
  if (logprobs !== null) steps.push({ kind: 'text', text: '', logprobs, signed: undefined })
  return steps
}

function addSaid(choice: ChoiceStream, said: Said, givenLogprobs: unknown, steps: ContentStep[]): void {
  const { reasoning, refusal, details, annotations } = said
  addReasoning(choice, said)
  if (reasoning) addText(choice, 'reasoning_content', reasoning, reasoningStep, steps)
  if (details.length > 0) {
    const shown = showWhole(choice, 'reasoning_details', numbered(details, choice.detailCount), steps)
    steps.push({ kind: 'details', details: shown })
    choice.detailCount += details.length
  }
  addContent(choice, said, givenLogprobs, steps)
  if (refusal) {
    choice.delivered.output.add(refusal)
    addText(choice, 'refusal', refusal, refusalStep, steps)
  }
  if (annotations.length > 0) {
    addPassedOn(choice, annotations)
    const shown = showWhole(choice, 'annotations', numbered(annotations, choice.annotationCount), steps)
    steps.push({ kind: 'annotations', annotations: shown })
    choice.annotationCount += annotations.length
  }
  addMedia(choice, said, steps)
}

function addContent(
  choice: ChoiceStream,
  { content, signed }: Said,
  givenLogprobs: unknown,
  steps: ContentStep[],
): void {
  const logprobs = givenLogprobs ? logprobsOf(givenLogprobs) : null
  if (content || logprobs !== null) {
    choice.delivered.output.add(content ?? '')
    const text = choice.shown.grow('content', content ?? '', textStep, steps)
    const shownLogprobs = logprobs && choice.shown.showLogprobs(logprobs)
    const shownSigned = signed && showNow(choice, '', signed)
    if (text !== '' || shownSigned !== undefined || shownLogprobs !== null)
      steps.push({ kind: 'text', text, logprobs: shownLogprobs, signed: shownSigned })
  } else if (signed !== undefined)
    steps.push({ kind: 'signed', signed: showWhole(choice, '', signed, steps) })
  if (signed !== undefined) addPassedOn(choice, signed)
}

/** The steps of a delta that is content and nothing else, which the caller counts as delivered. */
export function sayContent(choice: ChoiceStream, content: string): readonly ContentStep[] {
  const steps: ContentStep[] = []
  addText(choice, 'content', content, textStep, steps)
  return steps
}

/** Adds a piece of a text that grows from delta to delta. */
function addText(
  { shown }: ChoiceStream,
  field: string,
  piece: string,
  write: (text: string) => ContentStep,
  steps: ContentStep[],
): void {
  const text = shown.grow(field, piece, write, steps)
  if (text !== '') steps.push(write(text))
}

/** A value that is shown at once, behind the texts that were held back. */
function showWhole<Value>(choice: ChoiceStream, field: string, value: Value, steps: ContentStep[]): Value {
  choice.shown.release(steps)
  return showNow(choice, field, value)
}

/** Only texts and names change, so the value keeps its type. */
function showNow<Value>({ shown }: ChoiceStream, field: string, value: Value): Value {
  return shown.showNow(field, value) as Value
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

function addMedia(choice: ChoiceStream, { images, audio }: Said, steps: ContentStep[]): void {
  const { output, media } = choice.delivered
  if (images.length > 0) {
    const shown = showWhole(choice, 'images', numbered(images, choice.imageCount), steps)
    steps.push({ kind: 'images', images: shown })
    choice.imageCount += images.length
    media.images += images.length
  }
  if (audio !== undefined) {
    steps.push({ kind: 'audio', audio: showWhole(choice, 'audio', audio, steps) })
    const { words, length } = measureAudio(audio)
    output.add(words)
    media.soundLength += length
  }
}

/**
 * SDKs combine the items of lists by their `index`, and raise if it is missing. `from`: items before these.
 */
function numbered(items: readonly JsonObject[], from: number): readonly JsonObject[] {
  return items.map((item, at) => (Number.isInteger(item.index) ? item : { ...item, index: from + at }))
}

function addToolCalls(choice: ChoiceStream, given: unknown, steps: ContentStep[]): boolean {
  if (given === undefined) return true
  const made = choice.toolCalls.accept(given)
  if (made === undefined) return false
  for (const step of made) {
    choice.delivered.output.add(textOfCall(step))
    const { signed } = step.kind === 'call' ? step.call : step.part
    if (signed !== undefined) addPassedOn(choice, signed)
    addToolStep(choice, step, steps)
  }
  return true
}

function addToolStep(choice: ChoiceStream, step: ToolCallStep, steps: ContentStep[]): void {
  if (step.kind === 'call') {
    const { index, type, ...told } = step.call
    steps.push({
      kind: 'call',
      call: { ...showWhole(choice, `tool_calls.${index}`, told, steps), index, type },
    })
    return
  }
  const { part } = step
  const field = `tool_calls.${part.index}.arguments`
  const write = (text: string): ContentStep => ({ kind: 'call_part', part: { ...part, text } })
  if (part.signed === undefined) addText(choice, field, part.text, write, steps)
  else {
    const signed = showWhole(choice, `tool_calls.${part.index}`, part.signed, steps)
    steps.push({ kind: 'call_part', part: { ...part, text: showNow(choice, field, part.text), signed } })
  }
}

function addFunctionCall(choice: ChoiceStream, given: JsonObject | undefined, steps: ContentStep[]): boolean {
  if (given === undefined) return true
  const fragment = argumentsOf(given.arguments)
  if (fragment === undefined) return false
  const { name } = given
  if (!choice.functionNamed) {
    if (typeof name !== 'string' || name === '') return false
    choice.functionNamed = true
    choice.delivered.output.add(name)
    steps.push({ kind: 'function', name: showWhole(choice, 'function_call.name', name, steps) })
  }
  if (fragment === '') return true
  choice.delivered.output.add(fragment)
  addText(choice, 'function_call.arguments', fragment, functionPartStep, steps)
  return true
}
