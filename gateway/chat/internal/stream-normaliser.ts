import { createDelivered, type Delivered } from '../../exchange/delivered-text.ts'
import type { ApiFormat, StreamWriter } from '../../formats/api-format.ts'
import type { ContentStep } from '../../formats/content-step.ts'
import {
  type Failure,
  failureOfBadAnswer,
  failureOfErrorBody,
  failureOfFault,
  isErrorBody,
} from '../../upstream/failure.ts'
import type { EventReader } from '../../upstream/provider-adapter.ts'
import { type SecretSearch, searchFor } from '../../upstream/secret-search.ts'
import { fieldsOf, findJson, type JsonObject } from '../../wire/json-fields.ts'
import type { OpenAiUsage } from '../../wire/openai-usage.ts'
import { extrasOf, findModeration } from './answer-fields.ts'
import {
  acceptChoice,
  type ChoiceStep,
  type ChoiceStream,
  createChoiceStream,
  finishChoice,
  releaseHeld,
  sayContent,
} from './choice-stream.ts'
import {
  type ContentTemplate,
  type CountedTemplate,
  type EventTemplate,
  eventTemplateOf,
  findCountedTemplate,
  findTemplate,
  textIn,
  textInCounted,
  textInEvent,
} from './content-template.ts'

export type StreamOptions = {
  /** Of the provider's API. */
  readonly reader: EventReader
  /** Of the client's API. */
  readonly format: ApiFormat
  /** Every frame's id is made of it. A provider's own id would change with every fallback. */
  readonly requestId: string
  /** The model that ran, by the name that clients use. */
  readonly model: string
  readonly createdS: number
  /** The mark of the provider. */
  readonly origin: string
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
 * `nothing` or `ping`, the attempt can be discarded and made elsewhere. After `ended` and `failed` come only
 * `nothing`s.
 */
export type StreamStep =
  | { readonly kind: 'nothing' }
  /** Nothing, and no sign that an answer is under way. */
  | { readonly kind: 'ping' }
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
  /** Takes JSON that came between events: Google sends errors so. */
  acceptBareJson(text: string): StreamStep
  /** The body ended well. Without `[DONE]` the answer is whole only when every choice had its finish reason. */
  end(): StreamStep
  /** The answer went on beyond its limit, and its last frames, `unsent`, do not leave: frames that end every choice for its length. */
  endAtLimit(unsent: string): string
  /** Frames of text held back because it may have been the beginning of a secret: the last of an answer that was cut. */
  heldFrames(): string
  /**
   * Frames to be written once the charge is posted: the moderation result, if there was one; the usage chunk,
   * if the client asked for it; `[DONE]`.
   */
  finishFrames(usage: OpenAiUsage, costRub: string): string
  /** Stores the response before these; absent: nothing is stored. */
  readonly keep: StreamWriter['keep']
  /** Which choices have had their finish reason; as cheap as reading a field. */
  finished(): Finished
  /**
   * The last usage that the provider sent, unparsed (`readUsage` reads it). `undefined` if none came, or if
   * content followed it: then it does not count the whole response.
   */
  usage(): unknown
  /** Tools that the provider ran although the request may not use them; known only of relayed responses. */
  serverTools(): readonly string[]
  /**
   * The delivered content: reasoning separately, since it may have its own price. Tool calls are output.
   * Counts held-back text and hidden secrets on arrival.
   */
  readonly delivered: Delivered
}

type State = {
  readonly options: StreamOptions
  readonly writer: StreamWriter
  readonly search: SecretSearch | undefined
  readonly delivered: StreamNormaliser['delivered']
  readonly choices: ChoiceStream[]
  hasWritten: boolean
  extras: JsonObject
  /** The last moderation result that the provider sent. */
  moderation: JsonObject | undefined
  usage: { readonly given: unknown; readonly atLength: number } | undefined
  /** Of the last chunk that was nothing but text of a choice that goes on: what is around it in theirs, and how ours is written. */
  template:
    | {
        readonly choice: ChoiceStream
        readonly theirs: Theirs
        readonly writeOurs: (text: string) => string
      }
    | undefined
  /** The last event whose counts were not read, because it matched the template. */
  uncounted: string | undefined
  finished: Finished
  isOver: boolean
}

/** `event`: of chunks without counts, as bytes. */
type Theirs =
  | { readonly chunk: ContentTemplate; readonly event: EventTemplate }
  | { readonly counted: CountedTemplate }

const nothing: StreamStep = { kind: 'nothing' }
const ping: StreamStep = { kind: 'ping' }

/**
 * Turns any provider's stream into the one that strict clients expect.
 *
 * Chunks are rebuilt from the few fields that belong in them, so nothing else a provider sends (empty ids,
 * filter results, a second role) can get through. Pure: no clock, no I/O.
 */
export function createStreamNormaliser(options: StreamOptions): StreamNormaliser {
  const delivered = createDelivered()
  const search = searchFor(options.secrets)
  const { format, requestId, model, createdS, origin, usage } = options
  const writeJson = search === undefined ? JSON.stringify : search.write
  const state: State = {
    options,
    writer: format.createStreamWriter({ requestId, model, createdS, origin, usage, writeJson }),
    search,
    delivered,
    choices: [],
    hasWritten: false,
    extras: {},
    moderation: undefined,
    usage: undefined,
    template: undefined,
    uncounted: undefined,
    finished: 'no',
    isOver: false,
  }
  return {
    delivered,
    accept: (data) =>
      state.isOver ? nothing : (acceptSameAgain(state, data) ?? conclude(state, acceptEvent(state, data))),
    acceptBytes: (event) => acceptSameBytes(state, event),
    acceptBareJson: (text) => (state.isOver ? nothing : conclude(state, errorInBareJson(text))),
    end: () => (state.isOver ? nothing : conclude(state, endOfBody(state))),
    endAtLimit: (unsent) => endAtLimit(state, unsent),
    heldFrames: () => heldFrames(state),
    keep: state.writer.keep,
    finishFrames: (charged, costRub) => state.writer.end(charged, costRub, state.moderation),
    finished: () => state.finished,
    usage() {
      readCounts(state)
      return state.usage?.atLength === lengthOf(delivered) ? state.usage.given : undefined
    },
    serverTools: () => [],
  }
}

function conclude(state: State, step: StreamStep): StreamStep {
  state.finished = finishedOf(state)
  if (step.kind === 'ended' || step.kind === 'failed') state.isOver = true
  if (state.isOver || state.template?.choice.finish !== undefined) state.template = undefined
  return step
}

function acceptEvent(state: State, data: string): StreamStep {
  readCounts(state)
  const event = state.options.reader.read(data)
  switch (event.kind) {
    case 'nothing':
      return nothing
    case 'ping':
      return ping
    case 'end':
      return endByProvider(state)
    case 'failed':
      return event
    case 'chunk':
      return acceptChunk(state, data, event)
  }
}

/** Reads the counts that were passed over; nothing was delivered since. */
function readCounts(state: State): void {
  const { uncounted } = state
  if (uncounted === undefined) return
  state.uncounted = undefined
  const event = state.options.reader.read(uncounted)
  if (event.kind === 'chunk') noteUsage(state, event.usage)
}

function noteUsage(state: State, usage: unknown): void {
  state.usage = { given: usage, atLength: lengthOf(state.delivered) }
}

/** The failure that JSON between events means, if it means one. */
export function errorInBareJson(text: string): StreamStep {
  const body = findJson(text)
  return isErrorBody(body) ? failed(failureOfErrorBody(body, 'error_event')) : nothing
}

type Chunk = Extract<ReturnType<EventReader['read']>, { readonly kind: 'chunk' }>

function acceptChunk(state: State, data: string, { chunk, usage, isLast }: Chunk): StreamStep {
  const given = chunk.choices ?? []
  if (!Array.isArray(given)) return failed(failureOfBadAnswer('malformed_chunk'))
  // Only the first chunk's extras are kept: all chunks have the same.
  if (!state.hasWritten) noteExtras(state, extrasOf(chunk))
  state.moderation = findModeration(chunk) ?? state.moderation
  let text = ''
  let onlyText: string | undefined
  for (const item of given) {
    const steps = acceptItem(state, item)
    if ('kind' in steps) return steps
    text += writeSteps(state, steps)
    onlyText = given.length === 1 ? textOf(steps) : undefined
  }
  if (usage !== undefined) noteUsage(state, usage)
  if (onlyText !== undefined)
    learnTemplate(state, { data, isCounted: usage !== undefined }, given[0], onlyText)
  if (isLast === true) return { kind: 'ended', text }
  return text === '' ? nothing : { kind: 'frames', text }
}

function noteExtras(state: State, extras: JsonObject): void {
  state.extras = { ...state.extras, ...extras }
  state.writer.note(state.extras)
}

/** The next steps of one choice. */
type ChoiceSteps = { readonly index: number; readonly steps: readonly ContentStep[] }

function writeSteps(state: State, { index, steps }: ChoiceSteps): string {
  if (steps.length === 0) return ''
  state.hasWritten = true
  return state.writer.write(index, steps)
}

/** The text of steps that are a text and nothing else. */
function textOf({ steps: [first, second] }: ChoiceSteps): string | undefined {
  if (first?.kind !== 'text' || second !== undefined) return undefined
  return first.logprobs === null && first.signed === undefined ? first.text : undefined
}

/** Remembers what is around the text of a chunk from which nothing but that text was written. */
function learnTemplate(
  state: State,
  chunk: { readonly data: string; readonly isCounted: boolean },
  item: unknown,
  written: string,
): void {
  const index = Number(fieldsOf(item)?.index ?? 0)
  const content = fieldsOf(fieldsOf(item)?.delta)?.content
  const theirs = content === written ? theirsOf(state.options.reader, chunk, written) : undefined
  if (theirs === undefined) return
  const writeOurs = state.writer.textFrame(index)
  const choice = state.choices[index]
  if (choice !== undefined && writeOurs !== undefined) state.template = { choice, theirs, writeOurs }
}

function theirsOf(
  { textKey, countsKey, eventHead }: EventReader,
  { data, isCounted }: { readonly data: string; readonly isCounted: boolean },
  written: string,
): Theirs | undefined {
  if (textKey === undefined) return undefined
  if (isCounted) {
    const counted = findCountedTemplate(data, written, textKey, countsKey)
    return counted && { counted }
  }
  const chunk = findTemplate(data, written, textKey)
  return chunk && { chunk, event: eventTemplateOf(chunk, eventHead) }
}

function acceptSameAgain(state: State, data: string): StreamStep | undefined {
  const { template } = state
  if (template === undefined) return undefined
  const { theirs } = template
  if ('chunk' in theirs) return sayInTemplate(state, template, textIn(data, theirs.chunk))
  const step = sayInTemplate(state, template, textInCounted(data, theirs.counted))
  if (step !== undefined) state.uncounted = data
  return step
}

function acceptSameBytes(state: State, event: Buffer): StreamStep | undefined {
  const { template } = state
  if (template === undefined || !('event' in template.theirs)) return undefined
  return sayInTemplate(state, template, textInEvent(event, template.theirs.event))
}

function sayInTemplate(
  state: State,
  { choice, writeOurs }: NonNullable<State['template']>,
  content: string | undefined,
): StreamStep | undefined {
  if (content === undefined) return undefined
  state.delivered.output.add(content)
  if (choice.shown.isClear('content', content)) return { kind: 'frames', text: writeOurs(content) }
  const text = writeSteps(state, { index: state.choices.indexOf(choice), steps: sayContent(choice, content) })
  return text === '' ? nothing : { kind: 'frames', text }
}

/** All that was delivered, in any unit: it only grows. */
export function lengthOf({ output, reasoning, media }: Delivered): number {
  return output.length() + reasoning.length() + media.images + media.soundLength + media.opaqueLength
}

/** The steps of one choice of a chunk, or the failure that it is. */
function acceptItem(state: State, item: unknown): ChoiceSteps | StreamStep {
  const given = fieldsOf(item)
  const index = given?.index ?? 0
  if (given === undefined || !isIndex(index, state.options.choices))
    return failed(failureOfBadAnswer('malformed_chunk'))
  const choice = findChoice(state, index)
  const steps = acceptChoice(choice, given)
  return typeof steps === 'string' ? failed(failureOf(steps)) : { index, steps }
}

function findChoice(state: State, index: number): ChoiceStream {
  const known = state.choices[index]
  if (known !== undefined) return known
  const next = state.choices.length
  const makeCallId = (call: number) => `call_chatcmpl-${state.options.requestId}_${next}_${call}`
  state.choices.push(createChoiceStream(state.delivered, state.search, makeCallId))
  return findChoice(state, index)
}

/** `[DONE]` vouches for the answer: a choice that began and has no finish reason gets one, or SDKs would raise. */
function endByProvider(state: State): StreamStep {
  const hasSaid = state.hasWritten || state.choices.some(({ shown }) => shown.isHolding())
  if (!hasSaid) return failed(failureOfBadAnswer('empty_answer'))
  let text = ''
  for (const [index, choice] of state.choices.entries()) {
    if (choice.finish !== undefined) continue
    const steps = finishChoice(choice, 'stop')
    if (typeof steps === 'string') return failed(failureOf(steps))
    text += writeSteps(state, { index, steps })
  }
  return { kind: 'ended', text }
}

const lengthSteps: readonly ContentStep[] = [{ kind: 'finish', reason: 'length' }]

/** Written from nothing: half a tool call could not be finished as the provider would have. */
function endAtLimit(state: State, unsent: string): string {
  state.isOver = true
  state.writer.discard?.(unsent)
  for (const choice of state.choices) releaseHeld(choice) // beyond the limit, too
  return state.choices.map((_, index) => writeSteps(state, { index, steps: lengthSteps })).join('')
}

function heldFrames(state: State): string {
  return state.choices
    .map((choice, index) => writeSteps(state, { index, steps: releaseHeld(choice) }))
    .join('')
}

function endOfBody(state: State): StreamStep {
  return state.finished === 'no' ? failed(failureOfFault('cut')) : { kind: 'ended', text: '' }
}

function finishedOf({ choices, options }: State): Finished {
  if (choices.length === 0 || choices.some((choice) => choice.finish === undefined)) return 'no'
  return choices.length < options.choices ? 'begun' : 'all'
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
