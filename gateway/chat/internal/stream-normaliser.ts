import { createDelivered, type Delivered } from '../../exchange/delivered-text.ts'
import type { OpenAiUsage } from '../../exchange/usage.ts'
import {
  type Failure,
  failureOfBadAnswer,
  failureOfErrorBody,
  failureOfFault,
} from '../../upstream/failure.ts'
import type { EventReader } from '../../upstream/provider-adapter.ts'
import { type SecretSearch, searchFor } from '../../upstream/secret-search.ts'
import { fieldsOf, type JsonObject } from '../../wire/json-fields.ts'
import { extrasOf, findModeration } from './answer-fields.ts'
import {
  acceptChoice,
  type ChoicePiece,
  type ChoiceStep,
  type ChoiceStream,
  contentPiece,
  createChoiceStream,
  finishChoice,
  releaseHeld,
  rolePiece,
  sayContent,
} from './choice-stream.ts'
import {
  type ContentTemplate,
  type EventTemplate,
  eventTemplateOf,
  findTemplate,
  textIn,
  textInEvent,
} from './content-template.ts'

export type StreamOptions = {
  /** Of the provider's API. */
  readonly reader: EventReader
  /** Of every chunk: `chatcmpl-<request id>`. A provider's own id would change with every fallback. */
  readonly completionId: string
  /** The model that ran, by the name that clients use. */
  readonly model: string
  readonly createdS: number
  /** `n` of the request; a provider's choice beyond it is malformed. */
  readonly choices: number
  /** Whether the client asked for usage: `stream_options.include_usage`. */
  readonly usage: 'shown' | 'hidden'
  /** The provider's credential, in every form: the client never reads it. */
  readonly secrets: readonly string[]
}

/**
 * The effect of one event of a provider for the client. `text` is ready to be written, whole frames.
 *
 * There is no text before the first content (or the end of an empty response). While every step so far was
 * `nothing`, the attempt can be discarded and made elsewhere. After `ended` and `failed` come only
 * `nothing`s.
 */
export type StreamStep =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'frames'; readonly text: string }
  | { readonly kind: 'ended'; readonly text: string }
  | { readonly kind: 'failed'; readonly failure: Failure }

/** `all`: those asked for; only usage and `[DONE]` are missing. `begun`: those that began, but they are fewer; another may follow. */
type Finished = 'no' | 'begun' | 'all'

export type StreamNormaliser = {
  /** Takes the data of one event. Never throws. */
  accept(data: string): StreamStep
  /** Takes the bytes of one whole event, frame and all, that differs from an earlier one in its text; else `undefined`. */
  acceptBytes(event: Buffer): StreamStep | undefined
  /** The body ended well. Without `[DONE]` the answer is whole only when every choice had its finish reason. */
  end(): StreamStep
  /** The answer went on beyond its limit, and what came last was not written: frames that end every choice for its length. */
  endAtLimit(): string
  /** Frames of what was held back because it may have been the beginning of a secret: the last of an answer that was cut. */
  heldFrames(): string
  /**
   * Frames to be written once the charge is posted: the moderation result, if there was one; the usage chunk,
   * if the client asked for it; `[DONE]`.
   */
  finishFrames(usage: OpenAiUsage, costRub: string): string
  /** Which choices have had their finish reason; as cheap as reading a field. */
  finished(): Finished
  /**
   * The last usage that the provider sent, unparsed (`readUsage` reads it). `undefined` if none came, or if
   * content followed it: then it does not count the whole response.
   */
  usage(): unknown
  /**
   * The delivered content: reasoning separately, since it may have its own price. Tool calls are output.
   * Counts held-back text and hidden secrets on arrival.
   */
  readonly delivered: Delivered
}

type State = {
  readonly options: StreamOptions
  readonly search: SecretSearch | undefined
  readonly delivered: StreamNormaliser['delivered']
  readonly choices: ChoiceStream[]
  /** Choices whose role was written: always the first so many. */
  openCount: number
  /** The beginning of every chunk, made at the first one. */
  head: string
  extras: JsonObject
  /** The last moderation result that the provider sent. */
  moderation: JsonObject | undefined
  usage: { readonly given: unknown; readonly atLength: number } | undefined
  /** Of the last chunk that was nothing but text of a choice that goes on: what is around it in theirs and in our frame. */
  template:
    | {
        readonly choice: ChoiceStream
        readonly theirs: ContentTemplate
        readonly theirEvent: EventTemplate
        readonly ours: ContentTemplate
      }
    | undefined
  finished: Finished
  isOver: boolean
}

const nothing: StreamStep = { kind: 'nothing' }

/**
 * Turns any provider's stream into the one that strict clients expect.
 *
 * Chunks are rebuilt from the few fields that belong in them, so nothing else a provider sends (empty ids,
 * filter results, a second role) can get through. Pure: no clock, no I/O.
 */
export function createStreamNormaliser(options: StreamOptions): StreamNormaliser {
  const delivered = createDelivered()
  const state: State = {
    options,
    search: searchFor(options.secrets),
    delivered,
    choices: [],
    openCount: 0,
    head: '',
    extras: {},
    moderation: undefined,
    usage: undefined,
    template: undefined,
    finished: 'no',
    isOver: false,
  }
  return {
    delivered,
    accept: (data) =>
      state.isOver ? nothing : (acceptSameAgain(state, data) ?? conclude(state, acceptEvent(state, data))),
    acceptBytes: (event) => acceptSameBytes(state, event),
    end: () => (state.isOver ? nothing : conclude(state, endOfBody(state))),
    endAtLimit: () => endAtLimit(state),
    heldFrames: () => heldFrames(state),
    finishFrames: (usage, costRub) =>
      `${moderationFrame(state)}${options.usage === 'shown' ? usageFrame(state, { ...usage, cost_rub: costRub }) : ''}data: [DONE]\n\n`,
    finished: () => state.finished,
    usage: () => (state.usage?.atLength === lengthOf(delivered) ? state.usage.given : undefined),
  }
}

function conclude(state: State, step: StreamStep): StreamStep {
  state.finished = finishedOf(state)
  if (step.kind === 'ended' || step.kind === 'failed') state.isOver = true
  if (state.isOver || state.template?.choice.finish !== undefined) state.template = undefined
  return step
}

function acceptEvent(state: State, data: string): StreamStep {
  const event = state.options.reader.read(data)
  switch (event.kind) {
    case 'nothing':
      return nothing
    case 'end':
      return endByProvider(state)
    case 'failed':
      return event
    case 'chunk':
      return acceptChunk(state, data, event)
  }
}

type Chunk = Extract<ReturnType<EventReader['read']>, { readonly kind: 'chunk' }>

function acceptChunk(state: State, data: string, { chunk, usage }: Chunk): StreamStep {
  const given = chunk.choices ?? []
  if (!Array.isArray(given)) return failed(failureOfBadAnswer('malformed_chunk'))
  // Only the first chunk's extras are kept: all chunks have the same.
  if (state.head === '') state.extras = { ...state.extras, ...extrasOf(chunk) }
  state.moderation = findModeration(chunk) ?? state.moderation
  let text = ''
  for (const item of given) {
    const step = acceptItem(state, item)
    if (typeof step !== 'string') return step
    text += step
  }
  if (usage !== undefined) state.usage = { given: usage, atLength: lengthOf(state.delivered) }
  else if (given.length === 1) learnTemplate(state, data, given[0], text)
  return text === '' ? nothing : { kind: 'frames', text }
}

/** Remembers what is around the text of a chunk from which nothing but that text was written. */
function learnTemplate(state: State, data: string, item: unknown, written: string): void {
  const index = Number(fieldsOf(item)?.index ?? 0)
  const content = fieldsOf(fieldsOf(item)?.delta)?.content
  if (typeof content !== 'string' || written !== contentFrame(state, index, content)) return
  const theirs = findTemplate(data, content)
  const ours = findTemplate(written, content)
  const choice = state.choices[index]
  if (choice !== undefined && theirs !== undefined && ours !== undefined)
    state.template = { choice, theirs, theirEvent: eventTemplateOf(theirs), ours }
}

function acceptSameAgain(state: State, data: string): StreamStep | undefined {
  const { template } = state
  return template && sayInTemplate(state, template, textIn(data, template.theirs))
}

function acceptSameBytes(state: State, event: Buffer): StreamStep | undefined {
  const { template } = state
  return template && sayInTemplate(state, template, textInEvent(event, template.theirEvent))
}

function sayInTemplate(
  state: State,
  { choice, ours }: NonNullable<State['template']>,
  content: string | undefined,
): StreamStep | undefined {
  if (content === undefined) return undefined
  state.delivered.output.add(content)
  if (choice.shown.isClear('content', content))
    return { kind: 'frames', text: ours.before + content + ours.after }
  const text = framesOf(state, state.choices.indexOf(choice), sayContent(choice, content))
  return text === '' ? nothing : { kind: 'frames', text }
}

function contentFrame(state: State, index: number, content: string): string {
  return framesOf(state, index, [contentPiece(content)])
}

function lengthOf({ output, reasoning, media }: Delivered): number {
  return output.length() + reasoning.length() + media.images + media.soundLength + media.opaqueLength
}

/** The frames of one choice of a chunk, or the failure that it is. */
function acceptItem(state: State, item: unknown): string | StreamStep {
  const given = fieldsOf(item)
  const index = given?.index ?? 0
  if (given === undefined || !isIndex(index, state.options.choices))
    return failed(failureOfBadAnswer('malformed_chunk'))
  const choice = findChoice(state, index)
  const step = acceptChoice(choice, given)
  if (typeof step === 'string') return failed(failureOf(step))
  return step.length === 0 ? '' : openUpTo(state, index) + framesOf(state, index, step)
}

function findChoice(state: State, index: number): ChoiceStream {
  const known = state.choices[index]
  if (known !== undefined) return known
  const next = state.choices.length
  const makeCallId = (call: number) => `call_${state.options.completionId}_${next}_${call}`
  state.choices.push(createChoiceStream(state.delivered, state.search, makeCallId))
  return findChoice(state, index)
}

/** Roles, once each, of this choice and of all before it: SDKs append choices in the order in which they come. */
function openUpTo(state: State, index: number): string {
  let text = ''
  for (; state.openCount <= index; state.openCount += 1) {
    const calls = state.choices[state.openCount]?.toolCalls.count() ?? 0
    text += framesOf(state, state.openCount, [rolePiece(calls > 0 ? 'call' : 'text')])
  }
  return text
}

/** `[DONE]` vouches for the answer: a choice that began and has no finish reason gets one, or SDKs would raise. */
function endByProvider(state: State): StreamStep {
  const hasSaid = state.openCount > 0 || state.choices.some(({ shown }) => shown.isHolding())
  if (!hasSaid) return failed(failureOfBadAnswer('empty_answer'))
  let text = openUpTo(state, state.choices.length - 1)
  for (const [index, choice] of state.choices.entries()) {
    if (choice.finish !== undefined) continue
    const step = finishChoice(choice, 'stop')
    if (typeof step === 'string') return failed(failureOf(step))
    text += framesOf(state, index, step)
  }
  return { kind: 'ended', text }
}

const lengthPiece: ChoicePiece = '"delta":{},"finish_reason":"length"'

/** Written from nothing: half a tool call could not be finished as the provider would have. */
function endAtLimit(state: State): string {
  state.isOver = true
  heldFrames(state) // beyond the limit, too
  const text = openUpTo(state, Math.max(0, state.choices.length - 1))
  return text + state.choices.map((_, index) => framesOf(state, index, [lengthPiece])).join('')
}

function heldFrames(state: State): string {
  let text = ''
  for (const [index, choice] of state.choices.entries()) {
    const pieces = releaseHeld(choice)
    if (pieces.length > 0) text += openUpTo(state, index) + framesOf(state, index, pieces)
  }
  return text
}

function endOfBody(state: State): StreamStep {
  return state.finished === 'no' ? failed(failureOfFault('cut')) : { kind: 'ended', text: '' }
}

function finishedOf({ choices, options }: State): Finished {
  if (choices.length === 0 || choices.some((choice) => choice.finish === undefined)) return 'no'
  return choices.length < options.choices ? 'begun' : 'all'
}

function framesOf(state: State, index: number, pieces: readonly ChoicePiece[]): string {
  state.head ||= headOf(state)
  const tail = state.options.usage === 'shown' ? '}],"usage":null}\n\n' : '}]}\n\n'
  let text = ''
  for (const piece of pieces) text += `${state.head}{"index":${index},${piece}${tail}`
  return text
}

/** In a separate chunk, and never after the usage: SDKs take the last chunk's, and it would be null. */
function moderationFrame(state: State): string {
  if (state.moderation === undefined) return ''
  const usage = state.options.usage === 'shown' ? ',"usage":null' : ''
  return `${state.head || headOf(state)}],"moderation":${writeShown(state, state.moderation)}${usage}}\n\n`
}

function usageFrame(state: State, usage: object): string {
  return `${state.head || headOf(state)}],"usage":${JSON.stringify(usage)}}\n\n`
}

function headOf(state: State): string {
  const { completionId: id, createdS: created, model } = state.options
  const fields = writeShown(state, { id, object: 'chat.completion.chunk', created, model, ...state.extras })
  return `data: ${fields.slice(0, -1)},"choices":[`
}

function writeShown({ search }: State, value: object): string {
  return search === undefined ? JSON.stringify(value) : search.write(value)
}

function failureOf(step: Extract<ChoiceStep, string>): Failure {
  return step === 'failed'
    ? failureOfErrorBody(undefined, 'error_event')
    : failureOfBadAnswer('malformed_chunk')
}

function isIndex(value: unknown, count: number): value is number {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) < count
}

function failed(failure: Failure): StreamStep {
  return { kind: 'failed', failure }
}
