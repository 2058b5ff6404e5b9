import { fieldsOf, type JsonObject } from '../../wire/json-fields.ts'
import { GrowingText } from './growing-text.ts'
import {
  announce,
  growthHead,
  growthTail,
  type ItemPlace,
  type ItemStatus,
  type OpenItem,
  placeOf,
} from './item-events.ts'

type Part = {
  readonly type: 'output_text' | 'refusal'
  readonly text: GrowingText
  readonly annotations: JsonObject[]
  readonly growthHead: string
  isOpen: boolean
}

/** A part of a message that grows. A caller that adds to its text must write the event, too. */
export type OpenText = Pick<Part, 'text' | 'growthHead' | 'isOpen'>

/** The end of the event's frame. @param inJson the text as in JSON, between its quotes. */
export function textTail(inJson: string): string {
  return `,"delta":"${inJson}","logprobs":[]}\n\n`
}

/** The words of a model: text, a refusal, or one after the other. */
export class OpenMessage implements OpenItem {
  readonly #place: ItemPlace
  readonly #closed: JsonObject[] = []
  #part: Part | undefined

  constructor(place: ItemPlace) {
    this.#place = place
    announce(place, this.item('in_progress'))
  }

  item(status: ItemStatus): JsonObject {
    const open = this.#part === undefined ? [] : [shownPart(this.#part)]
    return {
      id: this.#place.id,
      type: 'message',
      status,
      role: 'assistant',
      content: [...this.#closed, ...open],
    }
  }

  /** @param inJson the text as in JSON, between its quotes. */
  addText(text: string, inJson: string): void {
    const part = this.#partOf('output_text')
    part.text.add(text)
    this.#place.events.grow(part.growthHead, textTail(inJson))
  }

  /** The open part, if it is text. */
  openText(): OpenText | undefined {
    return this.#part?.type === 'output_text' ? this.#part : undefined
  }

  addRefusal(text: string): void {
    const part = this.#partOf('refusal')
    part.text.add(text)
    this.#place.events.grow(part.growthHead, growthTail(JSON.stringify(text)))
  }

  addAnnotations(given: readonly JsonObject[]): void {
    const { annotations } = this.#partOf('output_text')
    for (const annotation of given.flatMap(citationOf)) {
      this.#place.events.event('response.output_text.annotation.added', {
        ...this.#partPlace(),
        annotation_index: annotations.length,
        annotation,
      })
      annotations.push(annotation)
    }
  }

  close(): void {
    const part = this.#part
    if (part === undefined) return
    const place = this.#partPlace()
    const text = part.text.text()
    const { events } = this.#place
    if (part.type === 'refusal') events.event('response.refusal.done', { ...place, refusal: text })
    else events.event('response.output_text.done', { ...place, text, logprobs: [] })
    const shown = shownPart(part)
    events.event('response.content_part.done', { ...place, part: shown })
    this.#closed.push(shown)
    part.isOpen = false
    this.#part = undefined
  }

  #partOf(type: Part['type']): Part {
    if (this.#part?.type === type) return this.#part
    this.close()
    const part = {
      type,
      isOpen: true,
      text: new GrowingText(),
      annotations: [],
      growthHead: growthHead(`response.${type}.delta`, this.#place, { content_index: this.#closed.length }),
    }
    this.#place.events.event('response.content_part.added', { ...this.#partPlace(), part: shownPart(part) })
    this.#part = part
    return part
  }

  #partPlace(): JsonObject {
    return { ...placeOf(this.#place), content_index: this.#closed.length }
  }
}

function shownPart({ type, text, annotations }: Part): JsonObject {
  return type === 'refusal'
    ? { type, refusal: text.text() }
    : { type, text: text.text(), annotations: [...annotations], logprobs: [] }
}

/** A citation in this API's form, which has no level for its kind. Of others there is none. */
function citationOf({ type, url_citation: given }: JsonObject): readonly JsonObject[] {
  const { url, title, start_index: start, end_index: end } = fieldsOf(given) ?? {}
  if (type !== 'url_citation' || typeof url !== 'string') return []
  const [from, to] = [start, end].map((index) => (Number.isInteger(index) ? index : 0))
  return [{ type, url, title: typeof title === 'string' ? title : url, start_index: from, end_index: to }]
}
