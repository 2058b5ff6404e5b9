import type { CallPart, CallStart, ContentStep } from '../content-step.ts'
import { GrowingText } from './growing-text.ts'
import { JsonEnd } from './json-end.ts'

/** A call that came while another one was incomplete. */
type WaitingCall = { readonly kind: 'waiting'; readonly call: CallStart; readonly text: GrowingText }

/** A step that does not continue a call. */
export type OrderedStep = Exclude<ContentStep, { readonly kind: 'function' | 'function_part' }>
type Waiting = WaitingCall | Exclude<OrderedStep, { readonly kind: 'call' | 'call_part' | 'finish' }>

/**
 * The steps of a choice with one call after the other: those that a provider writes in turns wait for each other. A call whose
 * brackets are closed is whole. The deprecated `function_call` is a call like any other.
 */
export class StepOrder {
  readonly #pass: (step: OrderedStep) => void
  readonly #functionId: string
  #call: { readonly index: number; readonly end: JsonEnd } | undefined
  #waiting: Waiting[] = []
  readonly #waitingCalls = new Map<number, WaitingCall>()
  readonly #callIds = new Map<number, string>()

  /** @param functionId of a call that has no id. */
  constructor(functionId: string, pass: (step: OrderedStep) => void) {
    this.#functionId = functionId
    this.#pass = pass
  }

  /** Of a call that was taken; it may still wait. */
  callIdOf(index: number): string | undefined {
    return this.#callIds.get(index)
  }

  take(step: ContentStep): void {
    if (step.kind === 'call') this.#takeCall(step.call)
    else if (step.kind === 'function') this.take({ kind: 'call', call: this.#callOf(step.name) })
    else if (step.kind === 'call_part') this.#addToCall(step.part)
    else if (step.kind === 'function_part')
      this.#addToCall({ index: 0, type: 'function', text: step.text, signed: undefined })
    else if (step.kind === 'finish') {
      for (const waiting of this.#takeWaiting()) this.#write(waiting)
      this.#pass(step)
    } else this.#take(step)
  }

  #callOf(name: string): CallStart {
    return { index: 0, id: this.#functionId, type: 'function', name, signed: undefined }
  }

  #takeCall(call: CallStart): void {
    this.#callIds.set(call.index, call.id)
    this.#take({ kind: 'waiting', call, text: new GrowingText() })
  }

  #take(step: Waiting): void {
    if (this.#call === undefined || (this.#waiting.length === 0 && this.#call.end.isReached())) {
      this.#write(step)
      return
    }
    this.#waiting.push(step)
    if (step.kind === 'waiting') this.#waitingCalls.set(step.call.index, step)
  }

  /** The text of a call that is over is nothing: white space behind its brackets. Signatures do not wait. */
  #addToCall(part: CallPart): void {
    if (part.index === this.#call?.index) {
      this.#call.end.add(part.text)
      this.#pass({ kind: 'call_part', part })
      while (this.#waiting.length > 0 && this.#call?.end.isReached() !== false) this.#writeNext()
      return
    }
    this.#waitingCalls.get(part.index)?.text.add(part.text)
    if (part.signed !== undefined) this.#pass({ kind: 'call_part', part: { ...part, text: '' } })
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

  #write(step: Waiting): void {
    this.#call = undefined
    if (step.kind !== 'waiting') {
      this.#pass(step)
      return
    }
    const { call } = step
    const { index, type } = call
    const text = step.text.text()
    this.#waitingCalls.delete(index)
    this.#call = { index, end: new JsonEnd() }
    this.#call.end.add(text)
    this.#pass({ kind: 'call', call })
    if (text !== '') this.#pass({ kind: 'call_part', part: { index, type, text, signed: undefined } })
  }
}
