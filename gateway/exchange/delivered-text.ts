import { type CountableText, countedLengthMax } from '../tokens/countable-text.ts'
import { estimateMedia, partsOfText, tokensOfParts } from '../tokens/token-estimate.ts'
import type { DeliveredTokens } from './internal/bill.ts'

/** UTF-16 units that the first piece is given room for. */
const keptLengthMin = 256

/**
 * Lengths of the response delivered so far: one for content, one for reasoning, which may have a separate
 * price.
 */
export type Delivered = {
  readonly output: DeliveredText
  readonly reasoning: DeliveredText
  readonly media: DeliveredMedia
}

/** Images and sound that were delivered: measured, never kept. Words of sound are text of the output. */
export type DeliveredMedia = {
  images: number
  /** Of its base64. */
  soundLength: number
  /**
   * Length of parts that only the provider can read: encrypted reasoning, signatures. No one else knows their
   * number of tokens.
   */
  opaqueLength: number
}

/** The parts of a response that came whole. */
export type Generated = {
  readonly output: string
  readonly reasoning: string
  readonly media?: Readonly<Partial<DeliveredMedia>>
}

/** A text that grows as it is delivered: cheap to append to and to query every few seconds. */
export type DeliveredText = {
  add(piece: string): void
  /** Estimated tokens so far, rounded up. */
  tokens(): number
  /** Its length so far, in UTF-16 units. */
  length(): number
  /** The text so far, for a count off the event loop; no more of it is kept than would be counted. */
  countable(): CountableText
}

/** Nothing delivered yet, or an answer that came whole. */
export function createDelivered({ output, reasoning, media }: Generated = nothingGenerated): Delivered {
  const delivered = {
    output: createDeliveredText(),
    reasoning: createDeliveredText(),
    media: { images: 0, soundLength: 0, opaqueLength: 0, ...media },
  }
  delivered.output.add(output)
  delivered.reasoning.add(reasoning)
  return delivered
}

const nothingGenerated: Generated = { output: '', reasoning: '' }

/** Tokens of all that was delivered: of its texts as they were counted, else as they are estimated. */
export function deliveredTokensOf(
  { output, reasoning, media }: Delivered,
  counted: DeliveredTokens = { output: output.tokens(), reasoning: reasoning.tokens() },
): DeliveredTokens {
  return { ...counted, output: counted.output + estimateMedia(media.images, media.soundLength) }
}

/** Whether anything at all was delivered. */
export function hasAny({ output, reasoning, media }: Delivered): boolean {
  return output.length() + reasoning.length() + media.images + media.soundLength + media.opaqueLength > 0
}

/** Measures delivered text and keeps it as units. */
export function createDeliveredText(): DeliveredText {
  return new KeptText()
}

/**
 * Kept as strings, the pieces of 200 slow answers are 20,000 more objects for the collector to copy each time that it
 * looks at what is young. Without them and the headers' (`writeFirstChunk`) it takes 5 to 7 ms in place of 9 to 11, and
 * so long every request waits. A class, since each closure would be one more thing to fetch from memory for each chunk.
 */
class KeptText implements DeliveredText {
  #units = nothingKept
  #keptLength = 0
  #length = 0
  #parts = 0

  add(piece: string): void {
    this.#length += piece.length
    this.#parts += partsOfText(piece)
    const end = Math.min(this.#keptLength + piece.length, countedLengthMax)
    if (end > this.#units.length) this.#units = enlarged(this.#units, end)
    const units = this.#units
    for (let at = this.#keptLength, from = 0; at < end; at += 1, from += 1) units[at] = piece.charCodeAt(from)
    this.#keptLength = end
  }

  tokens(): number {
    return tokensOfParts(this.#parts)
  }

  length(): number {
    return this.#length
  }

  countable(): CountableText {
    const bytes = Buffer.from(this.#units.buffer, 0, this.#keptLength * Uint16Array.BYTES_PER_ELEMENT)
    return { parts: [bytes.toString('utf16le')], length: this.#length }
  }
}

const nothingKept = new Uint16Array(0)

function enlarged(units: Uint16Array<ArrayBuffer>, needed: number): Uint16Array<ArrayBuffer> {
  const larger = new Uint16Array(Math.max(needed, units.length * 2, keptLengthMin))
  larger.set(units)
  return larger
}
