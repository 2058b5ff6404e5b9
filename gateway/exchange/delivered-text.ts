import { type CountableText, countedLengthMax } from '../tokens/countable-text.ts'
import { createTextMeasure } from './token-estimate.ts'

/** Pieces that are put together at a time: few enough to hold, many enough to make the joining cheap. */
const piecesMax = 256

/** What was delivered of an answer so far: two of them, since reasoning may have a price of its own. */
export type Delivered = { readonly output: DeliveredText; readonly reasoning: DeliveredText }

/** A text that grows as it is delivered; cheap to add to, cheap to ask every few seconds. */
export type DeliveredText = {
  add(piece: string): void
  /** Estimated tokens so far, rounded up. */
  tokens(): number
  /** Its length so far, in UTF-16 units. */
  length(): number
  /** The text so far, for a count off the event loop; no more of it is kept than would be counted. */
  countable(): CountableText
}

/** Nothing delivered yet; `output` and `reasoning` where an answer came whole. */
export function createDelivered(output = '', reasoning = ''): Delivered {
  const delivered = { output: createDeliveredText(), reasoning: createDeliveredText() }
  delivered.output.add(output)
  delivered.reasoning.add(reasoning)
  return delivered
}

/** Keeps delivered text flat (thousands of short strings cost ten times their length) and measures it as it grows. */
export function createDeliveredText(): DeliveredText {
  const measure = createTextMeasure()
  const folded: string[] = []
  let pieces: string[] = []
  let keptLength = 0
  let length = 0

  function fold(): void {
    if (pieces.length === 0) return
    const piece = pieces.join('')
    pieces = []
    measure.add(piece)
    const kept = piece.slice(0, countedLengthMax - keptLength)
    keptLength += kept.length
    if (kept !== '') folded.push(kept)
  }

  return {
    add(piece) {
      length += piece.length
      if (pieces.push(piece) === piecesMax) fold()
    },
    tokens() {
      fold()
      return Math.ceil(measure.tokens())
    },
    length: () => length,
    countable() {
      fold()
      return { parts: [folded.join('')], length }
    },
  }
}
