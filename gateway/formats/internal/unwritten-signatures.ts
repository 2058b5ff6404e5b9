import type { JsonObject } from '../../wire/json-fields.ts'
import type { SignedReasoning } from '../signed-reasoning.ts'
import { GrowingText } from './growing-text.ts'

/** Fields of a detail that grow from piece to piece. */
const growing: readonly string[] = ['text', 'summary', 'data']
/** Fields that only the provider can read. A detail without one is text, which the client has anyway. */
const opaque: readonly string[] = ['signature', 'thought_signature', 'data', 'encrypted_content']

/** Collects what a provider signed until an item can carry it. */
export class UnwrittenSignatures {
  #details = new Map<string, Detail>()
  #calls = new Map<string, JsonObject>()
  #content: JsonObject | null = null

  /** Pieces of one detail have the same type and index. */
  addDetails(pieces: readonly JsonObject[]): void {
    for (const piece of pieces) {
      const name = `${piece.type} ${piece.index}`
      const detail = this.#details.get(name) ?? new Detail()
      detail.add(piece)
      this.#details.set(name, detail)
    }
  }

  addCall(callId: string, content: JsonObject): void {
    this.#calls.set(callId, content)
  }

  addContent(content: JsonObject): void {
    this.#content = content
  }

  /** The text of the details that came since this was last asked for: it stands for reasoning that came in no other way. */
  unshownText(): string {
    const unshown = [...this.#details.values()].filter((detail) => !detail.isShown)
    for (const detail of unshown) detail.isShown = true
    const texts = unshown.map((detail) => detail.whole()).map(({ text, summary }) => text ?? summary)
    return texts.filter((text) => typeof text === 'string').join('')
  }

  /**
   * Everything so far, which then counts as written; `undefined` if nothing is signed. Text waits for its signature,
   * which some providers send late.
   */
  take(origin: string): SignedReasoning | undefined {
    const details = [...this.#details.values()].map((detail) => detail.whole())
    const isSigned = details.some((detail) => opaque.some((name) => Boolean(detail[name])))
    const calls = Object.fromEntries(this.#calls)
    const content = this.#content
    if (!isSigned && content === null && this.#calls.size === 0) return undefined
    if (isSigned) this.#details = new Map()
    this.#calls = new Map()
    this.#content = null
    return { origin, details: isSigned ? details : [], calls, content }
  }
}

/** One detail, of pieces. Of other fields than its texts the last value is valid. */
class Detail {
  /** Its text is in an item. */
  isShown = false
  readonly #fields = new Map<string, unknown>()
  readonly #texts = new Map<string, GrowingText>()

  add(piece: JsonObject): void {
    for (const [name, value] of Object.entries(piece)) {
      if (value === null || value === undefined) continue
      if (growing.includes(name) && typeof value === 'string') this.#grow(name, value)
      else this.#fields.set(name, value)
    }
  }

  #grow(name: string, piece: string): void {
    const text = this.#texts.get(name) ?? new GrowingText()
    text.add(piece)
    this.#texts.set(name, text)
  }

  whole(): JsonObject {
    const texts = [...this.#texts].map(([name, text]) => [name, text.text()] as const)
    return Object.fromEntries([...this.#fields, ...texts])
  }
}
