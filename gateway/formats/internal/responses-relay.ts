import { fieldsOf, type JsonObject, objectsIn } from '../../wire/json-fields.ts'
import type { OpenAiUsage } from '../../wire/openai-usage.ts'
import { detailOfEncrypted, mapEncrypted } from '../../wire/own-encrypted.ts'
import type { Charged, Delta, DeltaRepeat, FormatFacts, StreamRelay } from '../api-format.ts'
import type { KeepResponse } from '../keep-response.ts'
import type { SignedReasoning } from '../signed-reasoning.ts'
import { GrowingText } from './growing-text.ts'
import { eventsIn } from './item-events.ts'
import { responseIdOf, responseUsage } from './response-object.ts'
import type { ResponsesError } from './responses-error.ts'

export type ResponsesRelayOptions = {
  readonly facts: FormatFacts
  /** `undefined`: it cannot be encrypted, and clients do without it. */
  readonly encrypt: (signed: SignedReasoning) => string | undefined
  readonly previousId: unknown
  readonly keep?: KeepResponse | undefined
}

/** A response of OpenAI's as the client gets it: with our id and model, and what only the provider can read encrypted again. */
export class OwnResponse {
  readonly #options: ResponsesRelayOptions
  /** One text is encrypted once: it is in several events. */
  readonly #encrypted = new Map<string, string | undefined>()

  constructor(options: ResponsesRelayOptions) {
    this.#options = options
  }

  /** The fields of a response that are the gateway's. */
  responseOf(given: JsonObject): JsonObject {
    const { facts, keep, previousId } = this.#options
    return {
      ...given,
      id: responseIdOf(facts.requestId),
      model: facts.model,
      store: keep !== undefined,
      ...(previousId === null ? {} : { previous_response_id: previousId }),
      ...(Array.isArray(given.output) ? { output: given.output.map((item) => this.itemOf(item)) } : {}),
    }
  }

  /** The same of an item, or of an event of a type that is not known. */
  itemOf(given: unknown): unknown {
    return mapEncrypted(given, (data) => this.#encrypt(String(data)) ?? null)
  }

  /** The same response with the usage that is charged. */
  chargedOf(response: JsonObject, { usage, costRub }: Charged): JsonObject {
    const own = responseUsage(usage, costRub)
    const given = fieldsOf(response.usage) ?? {}
    const details = (name: string) => ({ ...fieldsOf(given[name]), ...fieldsOf(own[name]) })
    return {
      ...response,
      usage: {
        ...given,
        ...own,
        input_tokens_details: details('input_tokens_details'),
        output_tokens_details: details('output_tokens_details'),
      },
    }
  }

  #encrypt(data: string): string | undefined {
    if (!this.#encrypted.has(data)) {
      const { facts, encrypt } = this.#options
      const signed = { origin: facts.origin, details: [detailOfEncrypted(data)], calls: {}, content: null }
      this.#encrypted.set(data, encrypt(signed))
    }
    return this.#encrypted.get(data)
  }
}

/** An item that was announced and is not whole. */
type OpenItem = { readonly item: JsonObject; readonly text: GrowingText; part: string | undefined }

/** Relays the events of one response. Those that an answer needs are numbered again where some before them did not leave. */
export class ResponsesRelay implements StreamRelay {
  readonly #options: ResponsesRelayOptions
  readonly #own: OwnResponse
  readonly #done = new Map<unknown, unknown>()
  readonly #open = new Map<unknown, OpenItem>()
  #sequenceNumber = 0
  /** As it was last written. */
  #response: JsonObject = {}
  #final: { readonly type: string; readonly response: JsonObject } | undefined
  #whole: JsonObject | undefined

  constructor(options: ResponsesRelayOptions) {
    this.#options = options
    this.#own = new OwnResponse(options)
  }

  deltaOf(event: JsonObject): Delta | undefined {
    const { type, item_id, output_index, content_index, summary_index, delta } = event
    if (typeof delta !== 'string') return undefined
    return {
      field: `${type} ${item_id} ${output_index} ${content_index} ${summary_index}`,
      name: 'delta',
      text: delta,
      // The tokens of a text that is changed would spell out what was hidden.
      withText: (text) => ({
        ...event,
        delta: text,
        ...(event.logprobs === undefined ? {} : { logprobs: [] }),
      }),
    }
  }

  write(event: JsonObject, data: string | undefined): string {
    const { type } = event
    if (typeof event.delta === 'string') this.#grow(event, event.delta)
    else if (type === 'response.output_item.added' || type === 'response.output_item.done')
      return this.#writeItem(event, data)
    const response = fieldsOf(event.response)
    if (response === undefined) return this.#writeOther(event, data)
    this.#response = this.#own.responseOf(response)
    if (type === 'response.completed' || type === 'response.incomplete') {
      this.#final = { type, response: this.#response }
      return ''
    }
    return this.#frame({ ...event, response: this.#response }, undefined)
  }

  repeat({ output_index: index }: JsonObject): DeltaRepeat {
    const grown = this.#open.get(index)?.text
    return {
      number: 'sequence_number',
      padding: 'obfuscation',
      relay: (frame, { text, numberAt, numberEnd }) => {
        grown?.add(text)
        const number = String(this.#sequenceNumber)
        this.#sequenceNumber += 1
        if (numberAt === -1 || frame.slice(numberAt, numberEnd) === number) return frame
        return frame.slice(0, numberAt) + number + frame.slice(numberEnd)
      },
    }
  }

  discard(frames: string): void {
    for (const event of eventsIn(frames).toReversed()) this.#takeBack(event)
  }

  #takeBack({ type, output_index: index, delta }: JsonObject): void {
    this.#sequenceNumber -= 1
    if (typeof delta === 'string') this.#open.get(index)?.text.shorten(delta.length)
    else if (type === 'response.output_item.added') this.#open.delete(index)
    else if (type === 'response.output_item.done') {
      const item = fieldsOf(this.#done.get(index))
      this.#done.delete(index)
      if (item !== undefined) this.#open.set(index, reopened(item))
    }
  }

  endAtLimit(): string {
    const frames = [...this.#open].map(([index, open]) => {
      const item = brokenItem(open)
      this.#done.set(index, item)
      return this.#frame({ type: 'response.output_item.done', output_index: index, item }, undefined)
    })
    this.#open.clear()
    const response = {
      ...this.#response,
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output: [...this.#done.values()],
    }
    this.#final = { type: 'response.incomplete', response }
    return frames.join('')
  }

  get keep(): StreamRelay['keep'] {
    const { keep, facts } = this.#options
    if (keep === undefined) return undefined
    return async (usage, costRub) => {
      const whole = this.#endWith({ usage, costRub }, true)
      const items = objectsIn(whole.output)
      const isKept = await keep({ json: JSON.stringify(whole), items }, facts.requestId)
      this.#whole = isKept ? whole : { ...whole, store: false }
    }
  }

  end(usage: OpenAiUsage, costRub: string): string {
    const response = this.#whole ?? this.#endWith({ usage, costRub }, false)
    return `${this.#frame({ type: this.#endType(), response }, undefined)}data: [DONE]\n\n`
  }

  /** Ends the stream with an error: some clients read only the first of its events, Codex only the second. */
  fail({ code, message, param }: ResponsesError): string {
    const output = [...this.#done.values(), ...[...this.#open.values()].map(brokenItem)]
    const failed = { status: 'failed', error: { code, message }, output, store: false }
    return (
      this.#frame({ type: 'error', code, message, param }, undefined) +
      this.#frame({ type: 'response.failed', response: { ...this.#response, ...failed } }, undefined)
    )
  }

  #endType(): string {
    return this.#final?.type ?? 'response.completed'
  }

  #endWith(charged: Charged, store: boolean): JsonObject {
    const response = this.#final?.response ?? { ...this.#response, status: 'completed' }
    return { ...this.#own.chargedOf(response, charged), store }
  }

  #grow({ output_index: index, type }: JsonObject, delta: string): void {
    const open = this.#open.get(index)
    if (open === undefined) return
    open.part = String(type)
    open.text.add(delta)
  }

  #writeOther(event: JsonObject, data: string | undefined): string {
    if (typeof event.delta === 'string') return this.#frame(event, data)
    const own = fieldsOf(this.#own.itemOf(event)) ?? event
    return own === event ? this.#frame(event, data) : this.#frame(own, undefined)
  }

  #writeItem(event: JsonObject, data: string | undefined): string {
    const item = this.#own.itemOf(event.item)
    const { output_index: index } = event
    if (event.type === 'response.output_item.done') {
      this.#open.delete(index)
      this.#done.set(index, item)
    } else {
      const fields = fieldsOf(item)
      if (fields !== undefined)
        this.#open.set(index, { item: fields, text: new GrowingText(), part: undefined })
    }
    return item === event.item ? this.#frame(event, data) : this.#frame({ ...event, item }, undefined)
  }

  /** As it came, but for its number and in one line. */
  #frame(event: JsonObject, given: string | undefined): string {
    const data = given?.includes('\n') === true ? undefined : given
    const number = this.#sequenceNumber
    this.#sequenceNumber += 1
    const isSame = data !== undefined && event.sequence_number === number
    return `event: ${event.type}\ndata: ${isSame ? data : numbered(event, data, number)}\n\n`
  }
}

/** The JSON of an event with its number; in its text only the number is replaced, if that can be found. */
function numbered(event: JsonObject, data: string | undefined, number: number): string {
  const given = `"sequence_number":${event.sequence_number}`
  const at = data === undefined ? -1 : data.indexOf(given)
  if (data !== undefined && at !== -1 && data.indexOf('"sequence_number"', at + 1) === -1)
    return `${data.slice(0, at)}"sequence_number":${number}${data.slice(at + given.length)}`
  const { type, ...fields } = event
  return JSON.stringify({ type, ...fields, sequence_number: number })
}

/** The field in which an item has the text of such an event. */
const inFields: Readonly<Record<string, string>> = {
  'response.function_call_arguments.delta': 'arguments',
  'response.custom_tool_call_input.delta': 'input',
}

/** An item as it was before it was whole, with all of its text. */
function reopened({ summary, encrypted_content, ...item }: JsonObject): OpenItem {
  const [first] = objectsIn(item.content)
  const written = objectsIn(item.content).map(({ text, refusal }) => text ?? refusal)
  const text = new GrowingText()
  text.add(String(item.arguments ?? item.input ?? written.join('')))
  const begun = { ...item, ...(summary === undefined ? {} : { summary: [] }) }
  const inField = Object.keys(inFields).find((part) => item[inFields[part] ?? ''] !== undefined)
  const inContent = first?.type === 'refusal' ? 'response.refusal.delta' : 'response.output_text.delta'
  return { item: begun, text, part: inField ?? (first === undefined ? undefined : inContent) }
}

function brokenItem({ item, text, part = '' }: OpenItem): JsonObject {
  const field = inFields[part]
  if (field !== undefined) return { ...item, status: 'incomplete', [field]: text.text() }
  const broken = item.type === 'reasoning' ? item : { ...item, status: 'incomplete' }
  if (part === 'response.output_text.delta')
    return {
      ...broken,
      content: [{ type: 'output_text', text: text.text(), annotations: [], logprobs: [] }],
    }
  if (part === 'response.refusal.delta')
    return { ...broken, content: [{ type: 'refusal', refusal: text.text() }] }
  return broken
}

/** A whole response as it was cut at its limit: the first part of its texts, and no calls, which could not be made. */
export function cutResponse(response: JsonObject, share: number): JsonObject {
  if (share >= 1) return response
  const output = objectsIn(response.output)
    .filter(({ type }) => type === 'message' || type === 'reasoning')
    .map((item) => (item.type === 'message' ? cutMessage(item, share) : item))
  return {
    ...response,
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens' },
    output,
  }
}

function cutMessage(message: JsonObject, share: number): JsonObject {
  const content = objectsIn(message.content).map(({ text, refusal, ...part }) => ({
    ...part,
    ...cutText('text', text, share),
    ...cutText('refusal', refusal, share),
    ...(part.logprobs === undefined ? {} : { logprobs: [] }),
  }))
  return { ...message, status: 'incomplete', content }
}

function cutText(name: string, text: unknown, share: number): JsonObject {
  return typeof text === 'string' ? { [name]: text.slice(0, Math.floor(text.length * share)) } : {}
}
