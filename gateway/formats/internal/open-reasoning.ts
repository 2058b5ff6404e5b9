import type { JsonObject } from '../../wire/json-fields.ts'
import { GrowingText } from './growing-text.ts'
import { announce, growthHead, growthTail, type ItemPlace, type OpenItem, placeOf } from './item-events.ts'

const summaryPlace = { summary_index: 0 }

/**
 * A model's reasoning. Its text is a summary, whatever the provider calls it: clients know no other events of reasoning.
 */
export class OpenReasoning implements OpenItem {
  readonly #place: ItemPlace
  readonly #text = new GrowingText()
  readonly #growthHead: string
  #hasText = false
  #encrypted: string | undefined

  constructor(place: ItemPlace) {
    this.#place = place
    this.#growthHead = growthHead('response.reasoning_summary_text.delta', place, summaryPlace)
    announce(place, this.item())
  }

  item(): JsonObject {
    return {
      id: this.#place.id,
      type: 'reasoning',
      summary: this.#hasText ? [this.#part()] : [],
      ...(this.#encrypted === undefined ? {} : { encrypted_content: this.#encrypted }),
    }
  }

  hasText(): boolean {
    return this.#hasText
  }

  addText(text: string): void {
    const { events } = this.#place
    if (!this.#hasText)
      events.event('response.reasoning_summary_part.added', { ...this.#partPlace(), part: this.#part() })
    this.#hasText = true
    this.#text.add(text)
    events.grow(this.#growthHead, growthTail(JSON.stringify(text)))
  }

  /** The part that only the gateway can read, for the provider that made it. */
  addEncrypted(encrypted: string | undefined): void {
    this.#encrypted = encrypted
  }

  close(): void {
    if (!this.#hasText) return
    const { events } = this.#place
    const place = this.#partPlace()
    events.event('response.reasoning_summary_text.done', { ...place, text: this.#text.text() })
    events.event('response.reasoning_summary_part.done', { ...place, part: this.#part() })
  }

  #part(): JsonObject {
    return { type: 'summary_text', text: this.#text.text() }
  }

  #partPlace(): JsonObject {
    return { ...placeOf(this.#place), ...summaryPlace }
  }
}
