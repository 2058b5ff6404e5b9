import type { AskedTool } from '../../requests/responses-asked.ts'
import type { JsonObject } from '../../wire/json-fields.ts'
import type { CallPart, CallStart, ContentStep, FinishReason } from '../content-step.ts'
import type { SignedReasoning } from '../signed-reasoning.ts'
import type { ItemEvents, ItemPlace, ItemStatus, OpenItem } from './item-events.ts'
import { callPrefixes, type OpenCall, openCall } from './open-call.ts'
import { OpenMessage, type OpenText } from './open-message.ts'
import { OpenReasoning } from './open-reasoning.ts'
import { type OrderedStep, StepOrder } from './step-order.ts'
import { UnwrittenSignatures } from './unwritten-signatures.ts'

export type OutputOptions = {
  /** The ids of all items are made of it. */
  readonly requestId: string
  /** The mark of the provider. */
  readonly origin: string
  readonly toolOf: (sentName: string) => AskedTool
  /** `undefined`: it cannot be encrypted, and clients do without it. */
  readonly encrypt: (signed: SignedReasoning) => string | undefined
  readonly events: ItemEvents
}

function unsigned(origin: string): SignedReasoning {
  return { origin, details: [], calls: {}, content: null }
}

/** The items of a response, made of its steps. One item ends before the next begins. */
export class ResponseOutput {
  readonly #options: OutputOptions
  readonly #items: JsonObject[] = []
  readonly #signatures = new UnwrittenSignatures()
  readonly #order: StepOrder
  #open: OpenItem | undefined
  /** The open item, if it is a message. */
  #openMessage: OpenMessage | undefined
  /** The open item, if it is a call. */
  #call: OpenCall | undefined
  #annotations: readonly JsonObject[] = []
  #finish: FinishReason | undefined
  #isRefused = false

  constructor(options: OutputOptions) {
    this.#options = options
    this.#order = new StepOrder(`call_${options.requestId}_0`, (step) => this.#write(step))
  }

  /** Why the model stopped; `undefined` until then. */
  get finish(): FinishReason | undefined {
    return this.#finish
  }

  /** The model declined in its own words. */
  get isRefused(): boolean {
    return this.#isRefused
  }

  /** The items that are whole. */
  get items(): readonly JsonObject[] {
    return this.#items
  }

  /** The item that was broken off. */
  brokenItem(): JsonObject | undefined {
    return this.#open?.item('incomplete')
  }

  /** After `finish` nothing is taken. */
  take(step: ContentStep): void {
    if (this.#finish === undefined) this.#order.take(step)
  }

  /** The open text, which further texts continue. */
  openText(): OpenText | undefined {
    return this.#openMessage?.openText()
  }

  #write(step: OrderedStep): void {
    switch (step.kind) {
      case 'text':
        if (step.text !== '') this.#addText(step.text)
        if (step.signed !== undefined) this.#signatures.addContent(step.signed.extra_content)
        return
      case 'reasoning':
        this.#reasoning().addText(step.text)
        return
      case 'details':
        this.#signatures.addDetails(step.details)
        if (this.#open === undefined) this.#reasoning()
        return
      case 'signed':
        this.#signatures.addContent(step.signed.extra_content)
        return
      case 'refusal':
        this.#isRefused = true
        this.#message().addRefusal(step.text)
        return
      case 'annotations':
        if (this.#openMessage !== undefined) this.#openMessage.addAnnotations(step.annotations)
        else this.#annotations = [...this.#annotations, ...step.annotations]
        return
      case 'call':
        this.#beginCall(step.call)
        return
      case 'call_part':
        this.#addToCall(step.part)
        return
      case 'finish':
        this.#end(step.reason)
        return
      case 'images':
        for (const image of step.images) this.#writeImage(image)
    }
  }

  /** Writes what a provider signed after its last item. */
  #end(reason: FinishReason): void {
    this.#close(reason === 'length' ? 'incomplete' : 'completed')
    this.#writeSignatures()
    this.#finish = reason
  }

  #addText(text: string): void {
    const message = this.#message()
    message.addText(text, JSON.stringify(text).slice(1, -1))
    if (this.#annotations.length > 0) message.addAnnotations(this.#annotations)
    this.#annotations = []
  }

  #message(): OpenMessage {
    if (this.#openMessage !== undefined) return this.#openMessage
    const message = new OpenMessage(this.#nextPlace('msg'))
    this.#open = message
    this.#openMessage = message
    return message
  }

  #reasoning(): OpenReasoning {
    if (this.#open instanceof OpenReasoning) return this.#open
    this.#close('completed')
    const reasoning = new OpenReasoning(this.#place('rs'))
    this.#open = reasoning
    return reasoning
  }

  #beginCall({ id, name, signed }: CallStart): void {
    if (signed !== undefined) this.#signatures.addCall(id, signed.extra_content)
    const tool = this.#options.toolOf(name)
    const call = openCall(this.#nextPlace(callPrefixes[tool.kind]), id, tool)
    this.#open = call
    this.#call = call
  }

  #addToCall({ index, text, signed }: CallPart): void {
    const id = this.#order.callIdOf(index)
    if (signed !== undefined && id !== undefined) this.#signatures.addCall(id, signed.extra_content)
    if (text !== '') this.#call?.add(text)
  }

  /** A generated image, which comes whole. */
  #writeImage({ image_url: given }: JsonObject): void {
    const url = typeof given === 'object' && given !== null && 'url' in given ? given.url : given
    const data = typeof url === 'string' ? /^data:[^,]*;base64,(.*)$/s.exec(url)?.[1] : undefined
    if (data === undefined) return
    const place = this.#nextPlace('ig')
    const item = (status: ItemStatus, result: string | null) => ({
      id: place.id,
      type: 'image_generation_call',
      status,
      result,
    })
    const { events } = this.#options
    events.event('response.output_item.added', { output_index: place.index, item: item('in_progress', null) })
    this.#keep(place.index, item('completed', data))
  }

  /** The place of an item that is not reasoning. Signatures that came before it are in an item before it. */
  #nextPlace(prefix: string): ItemPlace {
    this.#close('completed')
    this.#writeSignatures()
    return this.#place(prefix)
  }

  #place(prefix: string): ItemPlace {
    const index = this.#items.length
    return { id: `${prefix}_${this.#options.requestId}_${index}`, index, events: this.#options.events }
  }

  #writeSignatures(): void {
    const encrypted = this.#encrypt(this.#signatures.take(this.#options.origin))
    if (encrypted === undefined) return
    const reasoning = new OpenReasoning(this.#place('rs'))
    reasoning.addEncrypted(encrypted)
    this.#keep(this.#items.length, reasoning.item())
  }

  #encrypt(signed: SignedReasoning | undefined): string | undefined {
    return signed && this.#options.encrypt(signed)
  }

  #close(status: ItemStatus): void {
    const open = this.#open
    if (open === undefined) return
    this.#open = undefined
    this.#openMessage = undefined
    this.#call = undefined
    if (open instanceof OpenReasoning) {
      const text = this.#signatures.unshownText()
      if (text !== '' && !open.hasText()) open.addText(text)
      // Some clients return only items that have encrypted content: of text that nothing signs it is only the mark.
      const { origin } = this.#options
      open.addEncrypted(this.#encrypt(this.#signatures.take(origin) ?? unsigned(origin)))
    }
    open.close()
    this.#keep(this.#items.length, open.item(status))
  }

  #keep(index: number, item: JsonObject): void {
    this.#items.push(item)
    this.#options.events.event('response.output_item.done', { output_index: index, item })
  }
}
