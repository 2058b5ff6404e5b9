import type { CallStart, ContentStep, FinishReason } from '../content-step.ts'
import type { SignedReasoning } from '../signed-reasoning.ts'
import type { BlockSink, BlockStart } from './block-sink.ts'
import { GrowingText } from './growing-text.ts'
import { type OrderedStep, StepOrder } from './step-order.ts'
import { UnwrittenSignatures } from './unwritten-signatures.ts'

export type MessageOptions = {
  readonly requestId: string
  /** The mark of the provider. */
  readonly origin: string
  readonly thinking: 'shown' | 'omitted'
  readonly toolNameOf: (sentName: string) => string
  /** `undefined`: it cannot be encrypted, and clients do without it. */
  readonly encrypt: (signed: SignedReasoning) => string | undefined
}

/** The blocks of a message, made of its steps. One ends before the next begins, and thinking ends with its signature. */
export class MessageOutput {
  readonly #options: MessageOptions
  readonly #sink: BlockSink
  readonly #order: StepOrder
  readonly #signatures = new UnwrittenSignatures()
  #open: BlockStart['type'] | undefined
  /** Whose block is open. The input of a custom one is a text, which clients read as a field. */
  #call: { readonly index: number; readonly type: CallStart['type'] } | undefined
  /** Of the open thinking, where the client does not read it. */
  #hidden = new GrowingText()
  #hasThought = false
  #finish: FinishReason | undefined
  #stopSequence: string | undefined
  #isRefused = false

  constructor(options: MessageOptions, sink: BlockSink) {
    this.#options = options
    this.#sink = sink
    this.#order = new StepOrder(`toolu_${options.requestId}_0`, (step) => this.#write(step))
  }

  /** Why the model stopped; `undefined` until then. */
  get finish(): FinishReason | undefined {
    return this.#finish
  }

  /** The stop sequence that ended the message; `undefined`: none did, or its provider does not report it. */
  get stopSequence(): string | undefined {
    return this.#stopSequence
  }

  /** The model declined in its own words. */
  get isRefused(): boolean {
    return this.#isRefused
  }

  /** After `finish` nothing is taken. */
  take(step: ContentStep): void {
    if (this.#finish === undefined) this.#order.take(step)
  }

  /** A text that continues an open one. @param json the same as JSON. */
  takeText(text: string, json: string): void {
    if (this.#open === 'text' && this.#finish === undefined) this.#sink.addText(text, json)
    else this.take({ kind: 'text', text, logprobs: null, signed: undefined })
  }

  #write(step: OrderedStep): void {
    switch (step.kind) {
      case 'text':
        if (step.text !== '') this.#addText(step.text)
        if (step.signed !== undefined) this.#signatures.addContent(step.signed.extra_content)
        return
      case 'reasoning':
        this.#addThinking(step.text)
        return
      case 'details':
        this.#signatures.addDetails(step.details)
        if (this.#open === undefined) this.#begin({ type: 'thinking' })
        return
      case 'signed':
        this.#signatures.addContent(step.signed.extra_content)
        return
      case 'refusal':
        this.#isRefused = true
        this.#addText(step.text)
        return
      case 'call': {
        const { index, id: given, type, name, signed } = step.call
        const id = clientsCallId(given)
        if (signed !== undefined) this.#signatures.addCall(id, signed.extra_content)
        this.#begin({ type: 'tool_use', id, name: this.#options.toolNameOf(name) })
        this.#call = { index, type }
        if (type === 'custom') this.#sink.addInput('{"input":"')
        return
      }
      case 'call_part': {
        const { index, text, signed } = step.part
        const id = this.#order.callIdOf(index)
        if (signed !== undefined && id !== undefined)
          this.#signatures.addCall(clientsCallId(id), signed.extra_content)
        if (index !== this.#call?.index || text === '') return
        this.#sink.addInput(this.#call.type === 'custom' ? JSON.stringify(text).slice(1, -1) : text)
        return
      }
      case 'finish':
        this.#close()
        this.#writeSignatures()
        this.#finish = step.reason
        this.#stopSequence = step.stopSequence
    }
  }

  #addText(text: string): void {
    if (this.#open !== 'text') this.#begin({ type: 'text' })
    this.#sink.addText(text, JSON.stringify(text))
  }

  #addThinking(text: string): void {
    if (this.#open !== 'thinking') this.#begin({ type: 'thinking' })
    this.#hasThought = true
    if (this.#options.thinking === 'shown') this.#sink.addThinking(text)
    else this.#hidden.add(text)
  }

  /** Signatures that came before a block are in a block before it. */
  #begin(start: BlockStart): void {
    this.#close()
    if (start.type !== 'thinking') this.#writeSignatures()
    this.#start(start)
  }

  #start(start: BlockStart): void {
    this.#open = start.type
    this.#sink.start(start)
  }

  #close(): void {
    if (this.#open === 'thinking') this.#sign()
    if (this.#call?.type === 'custom') this.#sink.addInput('"}')
    if (this.#open !== undefined) this.#sink.stop()
    this.#open = undefined
    this.#call = undefined
  }

  /** Some clients return only thinking that has a signature: where the provider made none it has only the mark. */
  #sign(): void {
    const { origin, thinking } = this.#options
    const text = this.#signatures.unshownText()
    if (text !== '' && !this.#hasThought) this.#addThinking(text)
    const signed = this.#signatures.take(origin) ?? { origin, details: [], calls: {}, content: null }
    const hidden = this.#hidden.text()
    const isLost = thinking === 'omitted' && hidden !== '' && signed.details.length === 0
    this.#sink.sign(this.#options.encrypt(isLost ? { ...signed, text: hidden } : signed) ?? '')
    this.#hidden = new GrowingText()
    this.#hasThought = false
  }

  #writeSignatures(): void {
    const signed = this.#signatures.take(this.#options.origin)
    const encrypted = signed && this.#options.encrypt(signed)
    if (encrypted === undefined) return
    this.#sink.start({ type: 'thinking' })
    this.#sink.sign(encrypted)
    this.#sink.stop()
  }
}

/** The only characters that Anthropic's API takes back. */
function clientsCallId(id: string): string {
  return id.replace(/[^\w-]/g, '_')
}
