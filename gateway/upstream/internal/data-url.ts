import { joinTexts, piecesOf, type Text } from '../../wire/long-text.ts'

export type DataUrl = {
  /** In lower case, without parameters. */
  readonly mediaType: string
  /** Valid, padding included. */
  readonly base64: Text
}

/** Longest that comes before the data, in UTF-16 units: media types have at most 127 (RFC 6838 §4.2), parameters are short. */
const headLengthMax = 1024
const head = /^data:([a-z0-9][\w!#$&^.+-]*\/[a-z0-9][\w!#$&^.+-]*)(?:;[^;,]*)*;base64,/i

/**
 * The parts of a base64 data URL (RFC 2397), or `undefined` if it is none, has no media type, or is no valid base64. Takes
 * time in proportion to its length, and makes no long string of a long text.
 */
export function parseDataUrl(url: Text): DataUrl | undefined {
  const [whole = '', mediaType = ''] = head.exec(beginOf(url, headLengthMax)) ?? []
  if (whole === '') return undefined
  const base64 = withoutBegin(url, whole.length)
  return isBase64(base64) ? { mediaType: mediaType.toLowerCase(), base64 } : undefined
}

/** The first characters of a text. */
export function beginOf(text: Text, length: number): string {
  let begin = ''
  for (const piece of piecesOf(text)) {
    begin += piece.slice(0, length - begin.length)
    if (begin.length === length) break
  }
  return begin
}

function withoutBegin(text: Text, length: number): Text {
  if (typeof text === 'string') return text.slice(length)
  let left = length
  const pieces = text.pieces.map((piece) => {
    const cut = Math.min(left, piece.length)
    left -= cut
    return cut === 0 ? piece : piece.slice(cut)
  })
  return joinTexts(pieces)
}

/** Whether a text is base64, padding included: whole groups of four characters, of which the last may end with it. */
export function isBase64(text: Text): boolean {
  if (text.length === 0 || text.length % 4 !== 0) return false
  const end = endOf(text, 2).replace(/[^=]/g, '').length
  let left = text.length - end
  for (const piece of piecesOf(text)) {
    if (!isAlphabet(left < piece.length ? piece.slice(0, left) : piece)) return false
    left -= Math.min(left, piece.length)
  }
  return endOf(text, 2).endsWith('='.repeat(end))
}

function endOf(text: Text, length: number): string {
  let end = ''
  for (const piece of piecesOf(text).toReversed()) {
    end = piece.slice(-(length - end.length)) + end
    if (end.length === length) break
  }
  return end
}

/** Characters that are decoded at once. */
const spanLength = 64 * 1024
const notInAlphabet = /[^A-Za-z0-9+/]/

/**
 * Node's decoder leaves out what is not in the alphabet, and then has fewer bytes. It takes 0.5 ms for a mebibyte, where an
 * expression takes 5 ms.
 */
function isAlphabet(piece: string): boolean {
  if (piece.includes('-') || piece.includes('_')) return false // another alphabet, which it takes too
  const groupsLength = piece.length - (piece.length % 4)
  for (let at = 0; at < groupsLength; at += spanLength) {
    const span = piece.slice(at, Math.min(at + spanLength, groupsLength))
    if (Buffer.from(span, 'base64').length !== (span.length / 4) * 3) return false
  }
  return !notInAlphabet.test(piece.slice(groupsLength))
}
