import type { AskedTool } from '../../requests/responses-asked.ts'
import type { JsonObject } from '../../wire/json-fields.ts'
import type { CallPart, CallStart, ContentStep, FinishReason } from '../content-step.ts'
import type { SignedReasoning } from '../signed-reasoning.ts'
import { GrowingText } from './growing-text.ts'
import type { ItemEvents, ItemPlace, ItemStatus, OpenItem } from './item-events.ts'
import { callPrefixes, type OpenCall, openCall } from './open-call.ts'
import { OpenMessage, type OpenText } from './open-message.ts'
import { OpenReasoning } from './open-reasoning.ts'
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

/** A call that came while another one was incomplete. */
type WaitingCall = { readonly kind: 'waiting'; readonly call: CallStart; readonly text: GrowingText }
type Waiting = WaitingCall | Exclude<ContentStep, { readonly kind: 'call' }>

function unsigned(origin: string): SignedReasoning {
  return { origin, details: [], calls: {}, content: null }
}

/**
 * The items of a response, made of its steps. One item ends before the next begins: calls that a provider writes in turns
 * wait for each other.
 */
export class ResponseOutput {
  readonly #options: OutputOptions
  readonly #items: JsonObject[] = []
  readonly #signatures = new UnwrittenSignatures()
  /** By index. A call that is neither open nor waiting is over. */
  readonly #waitingCalls = new Map<number, WaitingCall>()
  readonly #callIds = new Map<number, string>()
  #waiting: Waiting[] = []
  #open: OpenItem | undefined
  /** The open item, if it is a message. */
  #openMessage: OpenMessage | undefined
  /** The open item, if it is a call. */
  #call: { readonly index: number; readonly item: OpenCall } | undefined
  #annotations: readonly JsonObject[] = []
  #finish: FinishReason | undefined
  #isRefused = false

  constructor(options: OutputOptions) {
    this.#options = options
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
    if (this.#finish !== undefined) return
    if (step.kind === 'finish') this.#end(step.reason)
    else if (step.kind === 'call_part') this.#addToCall(step.part)
    else if (step.kind === 'function_part')
      this.#addToCall({ index: 0, type: 'function', text: step.text, signed: undefined })
    else if (this.#mustWait()) this.#wait(step)
    else this.#write(step)
  }

  /** The open text, which further texts continue. */
  openText(): OpenText | undefined {
    return this.#openMessage?.openText()
  }

  /** Writes what a provider signed after its last item. */
  #end(reason: FinishReason): void {
    for (const step of this.#takeWaiting()) this.#write(step)
    this.#close(reason === 'length' ? 'incomplete' : 'completed')
    this.#writeSignatures()
    this.#finish = reason
  }

  #mustWait(): boolean {
    return this.#call !== undefined && (this.#waiting.length > 0 || !this.#call.item.isWhole())
  }

  #wait(step: Exclude<ContentStep, { readonly kind: 'finish' | 'call_part' | 'function_part' }>): void {
    if (step.kind !== 'call') {
      this.#waiting.push(step)
      return
    }
    const waiting = { kind: 'waiting', call: step.call, text: new GrowingText() } as const
    this.#waiting.push(waiting)
    this.#waitingCalls.set(step.call.index, waiting)
  }

  #addToCall({ index, text, signed }: CallPart): void {
    const callId = this.#callIds.get(index) ?? this.#waitingCalls.get(index)?.call.id
    if (signed !== undefined && callId !== undefined) this.#signatures.addCall(callId, signed.extra_content)
    if (index !== this.#call?.index) this.#waitingCalls.get(index)?.text.add(text)
    else {
      this.#call.item.add(text)
      while (this.#waiting.length > 0 && this.#call?.item.isWhole() !== false) this.#writeNext()
    }
  }

  #writeNext(): void {
    const next = this.#waiting.shift()
    if (next !== undefined) this.#write(next)
  }

  #takeWaiting(): readonly Waiting[] {
    const waiting = this.#waiting
    this.#waiting = []
    return waiting
  }

  #write(step: ContentStep | WaitingCall): void {
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
        this.#beginCall(step.call, '')
        return
      case 'waiting':
        this.#waitingCalls.delete(step.call.index)
        this.#beginCall(step.call, step.text.text())
        return
      case 'function': {
        const id = `call_${this.#options.requestId}_0`
        this.#beginCall({ index: 0, id, type: 'function', name: step.name, signed: undefined }, '')
        return
      }
      case 'images':
        for (const image of step.images) this.#writeImage(image)
    }
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

  #beginCall({ index, id, name, signed }: CallStart, text: string): void {
    if (signed !== undefined) this.#signatures.addCall(id, signed.extra_content)
    const tool = this.#options.toolOf(name)
    const item = openCall(this.#nextPlace(callPrefixes[tool.kind]), id, tool)
    this.#open = item
    this.#call = { index, item }
    this.#callIds.set(index, id)
    if (text !== '') item.add(text)
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
