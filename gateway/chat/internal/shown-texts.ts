import { hiddenMark, mapTexts, type SecretSearch } from '../../upstream/secret-search.ts'
import { itemsOf, type JsonObject } from '../../wire/json-fields.ts'
import { textOfTokens } from './answer-fields.ts'

/**
 * The part of a streamed choice's texts that its client may read: all but its provider's secrets, which may
 * come in pieces.
 *
 * The end of a growing text is held back while it may be the beginning of a secret. These are fewer
 * characters than the secret has. They are released when the text continues, another text does, or the choice
 * ends. Nearly all pieces are shown at once.
 */
export type ShownTexts<Step> = {
  /** Whether this piece of `field` can be shown as it is, and nothing is held back. */
  isClear(field: string, piece: string): boolean
  /** Some content is not shown yet. */
  isHolding(): boolean
  /**
   * The text to show of `field` now that it has grown by `piece`. The held-back text of another field goes to
   * `steps` first.
   */
  grow(field: string, piece: string, write: (text: string) => Step, steps: Step[]): string
  /** A value to be shown at once, since readers take each of its kind for a whole: what completes a secret is hidden. */
  showNow(field: string, value: unknown): unknown
  /** The log probabilities to show with a piece. Those of held text wait for it, those of a secret are not shown. */
  showLogprobs(given: JsonObject): JsonObject | null
  /** Puts what is held back into `steps`. */
  release(steps: Step[]): void
  /** The log probabilities that still wait, once no more will come. */
  releaseLogprobs(): JsonObject | null
}

/** Without a `search` everything is shown. */
export function createShownTexts<Step>(search: SecretSearch | undefined): ShownTexts<Step> {
  return search === undefined ? everything : new SearchedTexts<Step>(search)
}

const everything: ShownTexts<unknown> = {
  isClear: () => true,
  isHolding: () => false,
  grow: (_field, piece) => piece,
  showNow: (_field, value) => value,
  showLogprobs: (given) => given,
  release: () => {},
  releaseLogprobs: () => null,
}

/** Fields of one choice whose ends are remembered: as many as it may have tool calls. */
const endsMax = 1024

class SearchedTexts<Step> implements ShownTexts<Step> {
  readonly #search: SecretSearch
  /** Of fields that end with the beginning of a secret, shown or held back. */
  #ends: Map<string, OpenEnd> | undefined
  /** Of one field at most, to keep the order of the content. */
  #held: { readonly field: string; readonly end: OpenEnd; readonly write: (text: string) => Step } | undefined
  #waiting: Waiting = nothingWaiting

  constructor(search: SecretSearch) {
    this.#search = search
  }

  isClear(field: string, piece: string): boolean {
    return this.#held === undefined && !this.#ends?.has(field) && this.#search.isClear(piece)
  }

  isHolding(): boolean {
    return this.#held !== undefined || this.#waiting !== nothingWaiting
  }

  grow(field: string, piece: string, write: (text: string) => Step, steps: Step[]): string {
    if (this.#held?.field !== field) this.release(steps)
    if (this.isClear(field, piece)) return piece
    const end = this.#endOf(field)
    const shown = end.grow(piece)
    this.#held = end.isHeld() ? { field, end, write } : undefined
    this.#keep(field, end)
    return shown
  }

  showNow(field: string, value: unknown): unknown {
    const text = (piece: string, place: string) => this.#showTextNow(place, piece)
    return mapTexts(value, { text, name: this.#search.hide }, field)
  }

  #showTextNow(field: string, piece: string): string {
    if (!this.#ends?.has(field) && this.#search.isClear(piece)) return piece
    const end = this.#endOf(field)
    const shown = end.grow(piece) + end.release()
    this.#keep(field, end)
    return shown
  }

  showLogprobs(given: JsonObject): JsonObject | null {
    const content = this.#splitTokens([...this.#waiting.content, ...itemsOf(given.content)])
    const refusal = this.#splitTokens([...this.#waiting.refusal, ...itemsOf(given.refusal)])
    const isWaiting = content.waiting.length + refusal.waiting.length > 0
    this.#waiting = isWaiting ? { content: content.waiting, refusal: refusal.waiting } : nothingWaiting
    return logprobsWith(content.shown, refusal.shown)
  }

  /** Whole tokens: those that the end of the text consists of wait. */
  #splitTokens(tokens: readonly unknown[]): { shown: readonly unknown[]; waiting: readonly unknown[] } {
    const text = textOfTokens(tokens)
    if (this.#search.isClear(text)) return { shown: this.#withoutAlternatives(tokens), waiting: [] }
    if (this.#search.find(text, 0) !== undefined) return { shown: [], waiting: [] }
    let openLength = this.#search.openLength(text, 0)
    let at = tokens.length
    while (openLength > 0 && at > 0) {
      at -= 1
      openLength -= textOfTokens(tokens.slice(at, at + 1)).length
    }
    return { shown: this.#withoutAlternatives(tokens.slice(0, at)), waiting: tokens.slice(at) }
  }

  /** A token that the model did not choose may itself be a secret. */
  #withoutAlternatives(tokens: readonly unknown[]): readonly unknown[] {
    return tokens.map((token) => mapTexts(token, { text: this.#search.hide, name: this.#search.hide }))
  }

  release(steps: Step[]): void {
    if (this.#held === undefined) return
    const { end, write } = this.#held
    this.#held = undefined
    steps.push(write(end.release()))
  }

  releaseLogprobs(): JsonObject | null {
    const { content, refusal } = this.#waiting
    this.#waiting = nothingWaiting
    return logprobsWith(content, refusal)
  }

  #endOf(field: string): OpenEnd {
    return this.#ends?.get(field) ?? new OpenEnd(this.#search)
  }

  #keep(field: string, end: OpenEnd): void {
    if (!end.isOpen()) {
      this.#ends?.delete(field)
      return
    }
    if ((this.#ends?.size ?? 0) >= endsMax) this.#ends?.clear()
    this.#ends ??= new Map()
    this.#ends.set(field, end)
  }
}

/** The end of a growing text that is the beginning of a secret. */
class OpenEnd {
  readonly #search: SecretSearch
  #text = ''
  /** How much of it was shown nevertheless. */
  #shownLength = 0

  constructor(search: SecretSearch) {
    this.#search = search
  }

  isOpen(): boolean {
    return this.#text !== ''
  }

  isHeld(): boolean {
    return this.#shownLength < this.#text.length
  }

  /** The text to show after it has grown by `piece`. */
  grow(piece: string): string {
    const text = this.#text + piece
    let shown = ''
    let at = 0
    for (let found = this.#search.find(text, 0); found !== undefined; found = this.#search.find(text, at)) {
      shown += text.slice(Math.max(at, this.#shownLength), found.start) + hiddenMark
      at = found.end
    }
    const openAt = text.length - this.#search.openLength(text, at)
    shown += text.slice(Math.max(at, this.#shownLength), openAt)
    this.#text = text.slice(openAt)
    this.#shownLength = Math.max(this.#shownLength - openAt, 0)
    return shown
  }

  release(): string {
    const held = this.#text.slice(this.#shownLength)
    this.#shownLength = this.#text.length
    return held
  }
}

type Waiting = { readonly content: readonly unknown[]; readonly refusal: readonly unknown[] }

const nothingWaiting: Waiting = { content: [], refusal: [] }

function logprobsWith(content: readonly unknown[], refusal: readonly unknown[]): JsonObject | null {
  if (content.length + refusal.length === 0) return null
  return { content: content.length === 0 ? null : content, refusal: refusal.length === 0 ? null : refusal }
}
