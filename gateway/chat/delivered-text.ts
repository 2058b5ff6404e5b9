import { createTextMeasure } from './token-estimate.ts'

/** Most text of one answer that is kept for counting later, in UTF-16 units: 4 Mi, about a million tokens. */
export const deliveredLengthMax = 4 * 1024 * 1024
/** Pieces that are put together at a time: few enough to hold, many enough to make the joining cheap. */
const piecesMax = 256

/** What was delivered of an answer so far; cheap to add to, cheap to ask every few seconds. */
export type DeliveredText = {
  add(piece: string): void
  /** Estimated tokens so far, rounded up. */
  tokens(): number
  /** The text so far, at most `deliveredLengthMax` of it; for a count off the event loop. */
  text(): string
}

/** Keeps delivered text flat (thousands of short strings cost ten times their length) and measures it as it grows. */
export function createDeliveredText(): DeliveredText {
  const measure = createTextMeasure()
  const folded: string[] = []
  let pieces: string[] = []
  let keptLength = 0

  function fold(): void {
    if (pieces.length === 0) return
    const piece = pieces.join('')
    pieces = []
    measure.add(piece)
    const kept = piece.slice(0, deliveredLengthMax - keptLength)
    keptLength += kept.length
    if (kept !== '') folded.push(kept)
  }

  return {
    add(piece) {
      if (pieces.push(piece) === piecesMax) fold()
    },
    tokens() {
      fold()
      return Math.ceil(measure.tokens())
    },
    text() {
      fold()
      return folded.join('')
    },
  }
}
