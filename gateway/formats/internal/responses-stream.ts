import type { JsonObject } from '../../wire/json-fields.ts'
import type { OpenAiUsage } from '../../wire/openai-usage.ts'
import type { StreamWriter } from '../api-format.ts'
import type { ContentStep } from '../content-step.ts'
import type { KeepResponse } from '../keep-response.ts'
import { eventsIn, type ItemEvents } from './item-events.ts'
import { textTail } from './open-message.ts'
import {
  endState,
  type ResponseFacts,
  type ResponseState,
  responseHead,
  responseUsage,
} from './response-object.ts'
import { type OutputOptions, ResponseOutput } from './response-output.ts'
import type { ResponsesError } from './responses-error.ts'

export type ResponsesStreamOptions = Omit<OutputOptions, 'events' | 'requestId'> & {
  readonly facts: ResponseFacts
  /** The fields that repeat the request, as JSON text without braces. */
  readonly repeated: string
  readonly nowS: () => number
  readonly keep?: KeepResponse | undefined
}

/** The whole response, before its last event is written. */
type Whole = { readonly type: string; readonly json: string }

/** Writes the events of one response. Each has the next number, and each frame is whole. */
export class ResponsesStream implements StreamWriter, ItemEvents {
  readonly #options: ResponsesStreamOptions
  readonly #output: ResponseOutput
  /** Of the items that are whole, as JSON. */
  readonly #itemTexts: string[] = []
  #serviceTier: string
  #sequenceNumber = 0
  #frames = ''
  #whole: Whole | undefined

  constructor(options: ResponsesStreamOptions) {
    this.#options = options
    this.#serviceTier = options.facts.serviceTier
    this.#output = new ResponseOutput({ ...options, requestId: options.facts.requestId, events: this })
  }

  note({ service_tier: tier }: JsonObject): void {
    if (typeof tier === 'string') this.#serviceTier = tier
  }

  /** There is one choice: requests of this API ask for no more. */
  write(choice: number, steps: readonly ContentStep[]): string {
    if (choice > 0) return ''
    this.#begin()
    for (const step of steps) this.#output.take(step)
    return this.#takeFrames()
  }

  /** Of slow streams each object that a piece needs comes from memory: this needs few. */
  textFrame(choice: number): ((text: string) => string) | undefined {
    const open = choice > 0 ? undefined : this.#output.openText()
    if (open === undefined) return undefined
    return (text) => {
      if (!open.isOpen) return this.write(choice, [{ kind: 'text', text, logprobs: null, signed: undefined }])
      open.text.add(text)
      const number = this.#sequenceNumber
      this.#sequenceNumber += 1
      return open.growthHead + number + textTail(text)
    }
  }

  discard(frames: string): void {
    const events = eventsIn(frames)
    this.#sequenceNumber -= events.length
    const texts = events.filter(({ type }) => type === 'response.output_text.delta')
    const length = texts.reduce((sum, { delta }) => sum + String(delta).length, 0)
    this.#output.openText()?.text.shorten(length)
  }

  get keep(): StreamWriter['keep'] {
    const { keep, facts } = this.#options
    if (keep === undefined) return undefined
    return async (usage, costRub) => {
      const whole = this.#endWith(usage, costRub, true)
      const { items } = this.#output
      const isKept = await keep({ json: whole.json, items }, facts.requestId)
      this.#whole = isKept ? whole : this.#endWith(usage, costRub, false)
    }
  }

  end(usage: OpenAiUsage, costRub: string): string {
    const { type, json } = this.#whole ?? this.#endWith(usage, costRub, false)
    this.#write(type, `"response":${json}`)
    return `${this.#takeFrames()}data: [DONE]\n\n`
  }

  #endWith(usage: OpenAiUsage, costRub: string, store: boolean): Whole {
    this.#begin()
    this.#output.take({ kind: 'finish', reason: 'stop' })
    const { finish, isRefused } = this.#output
    const state = endState(finish, isRefused, this.#options.nowS())
    const json = this.#responseJson(state, store, JSON.stringify(responseUsage(usage, costRub)))
    return { type: `response.${state.status}`, json }
  }

  /** Ends the stream with an error: some clients read only the first of its events, Codex only the second. */
  fail(error: ResponsesError): string {
    this.#create()
    const { code, message, param } = error
    this.event('error', { code, message, param })
    const broken = this.#output.brokenItem()
    if (broken !== undefined) this.#itemTexts.push(JSON.stringify(broken))
    this.#write('response.failed', `"response":${this.#responseJson({ status: 'failed', error }, false)}`)
    return this.#takeFrames()
  }

  event(type: string, fields: JsonObject): void {
    const text = JSON.stringify(fields).slice(1, -1)
    if (type === itemDone) this.#itemTexts.push(text.slice(text.indexOf(itemField) + itemField.length))
    this.#write(type, text)
  }

  grow(head: string, tail: string): void {
    this.#frames += head + this.#sequenceNumber + tail
    this.#sequenceNumber += 1
  }

  /** @param fields as JSON text without braces. */
  #write(type: string, fields: string): void {
    this.grow(`event: ${type}\ndata: {"type":"${type}","sequence_number":`, `,${fields}}\n\n`)
  }

  #begin(): void {
    if (this.#create()) this.#writeOpen('response.in_progress')
  }

  /** The first event of every stream; `false`: it was written. */
  #create(): boolean {
    if (this.#sequenceNumber > 0) return false
    this.#writeOpen('response.created')
    return true
  }

  #writeOpen(type: string): void {
    this.#write(type, `"response":${this.#responseJson(inProgress, this.#options.keep !== undefined)}`)
  }

  #responseJson(state: ResponseState, store: boolean, usage = 'null'): string {
    const { facts, repeated } = this.#options
    const head = JSON.stringify(responseHead({ ...facts, serviceTier: this.#serviceTier }, state, store))
    return `{${repeated},${head.slice(1, -1)},"output":[${this.#itemTexts.join(',')}],"usage":${usage}}`
  }

  #takeFrames(): string {
    const frames = this.#frames
    this.#frames = ''
    return frames
  }
}

const inProgress: ResponseState = { status: 'in_progress' }
const itemDone = 'response.output_item.done'
/** The last field of that event. */
const itemField = ',"item":'
