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
const notBase64 = /[^A-Za-z0-9+/]/

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
  let ends = ''
  for (const piece of piecesOf(text)) {
    const end = ends === '' ? piece.search(notBase64) : 0
    if (end === -1) continue
    ends += piece.slice(end, end + 3)
    if (ends.length > 2) return false
  }
  return ends === '' || ends === '=' || ends === '=='
}
