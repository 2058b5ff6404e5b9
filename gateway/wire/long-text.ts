/**
 * A text of a large body that is too long for one string: V8 takes 20 ms to make one of 31 MiB, or as much for its first
 * reader. `JSON.stringify` writes it like any text, in one piece (`json-writer.ts` does not).
 */
export class LongText {
  /** No character is cut in two. */
  readonly pieces: readonly string[]
  /** In UTF-16 units. */
  readonly length: number

  constructor(pieces: readonly string[]) {
    this.pieces = pieces
    this.length = pieces.reduce((sum, piece) => sum + piece.length, 0)
  }

  toString(): string {
    return this.pieces.join('')
  }

  toJSON(): string {
    return this.toString()
  }
}

/** The type of a text in a request. */
export type Text = string | LongText

/** Longest text, in UTF-16 units, that is one string in every body. */
export const stringLengthMax = 256 * 1024

/** Whether a value of a request is a text. */
export function isText(value: unknown): value is Text {
  return typeof value === 'string' || value instanceof LongText
}

/** A text in the parts that it is in memory. */
export function piecesOf(text: Text): readonly string[] {
  return typeof text === 'string' ? [text] : text.pieces
}

/** The texts as one. */
export function joinTexts(texts: readonly Text[]): Text {
  const length = texts.reduce((sum, text) => sum + text.length, 0)
  return length <= stringLengthMax ? texts.join('') : new LongText(texts.flatMap(piecesOf))
}
