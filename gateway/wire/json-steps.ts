import { isDigit } from './json-text.ts'
import { LongText, stringLengthMax, type Text } from './long-text.ts'

/** The parsed value of a text, or its first problem. */
export type JsonFound =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'not_json'; readonly problem: string }
  | { readonly kind: 'too_deep' | 'too_many' | 'long_name' }

type Container = { readonly list: unknown[] } | { readonly fields: Record<string, unknown>; name: string }
type Limits = { readonly depthMax: number; readonly partsMax: number; readonly numbersMax: number }
/** The part read of a text. Half a character may be carried to its next piece: escapes are, of its UTF-16 units. */
type Unread = { readonly pieces: string[]; carried: string }
/** The next expected syntax. */
type Next = 'value' | 'value_or_end' | 'name' | 'name_or_end' | 'colon' | 'comma_or_end' | 'end'

/** Above it doubles skip whole numbers. */
const exactMax = 2 ** 53
/** Whole numbers of so many digits are read digit by digit, and are exact. */
const plainDigitsMax = 15
/** Longest number, in characters: it is read in one piece. */
const numberLengthMax = 65_536
/** Part of a text that is read in one piece, in bytes: 1 ms where each is an escape. */
const pieceBytes = 64 * 1024
/** Tokens between two looks at the clock: 10 to 50 µs. */
const tokensPerLook = 256
/** Longest name of a field, in bytes: V8 takes it in one piece. No body that is parsed at once has room for a longer one. */
const nameBytesMax = 256 * 1024
const numberPattern = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** White space that is skipped in one step. */
const spacesPerToken = 4096
/** No code of a byte: there is none. */
const none = -1

const [space, quote, backslash, comma, colon] = [0x20, 0x22, 0x5c, 0x2c, 0x3a] as const
const [zero, letterU] = [0x30, 0x75] as const
const [openingBracket, closingBracket, openingBrace, closingBrace] = [0x5b, 0x5d, 0x7b, 0x7d] as const

/**
 * Reads a text, in valid UTF-8, as `JSON.parse` would, but in steps, each going on where the one before stopped; a number
 * beyond 2^53 as a `JSON.rawJSON`, and a text of more than 256 Ki units as a `LongText`. It takes up to four times as long
 * in all, and no step a millisecond or two more than it may.
 */
export class JsonSteps {
  readonly #bytes: Buffer
  readonly #limits: Limits
  readonly #open: Container[] = []
  #next: Next = 'value'
  #at = 0
  #parts = 0
  #numbers = 0
  #root: unknown
  #unread: Unread | undefined
  #found: JsonFound | undefined

  /** @param limits deepest nesting, and most texts (names included), lists, objects and long numbers; most numbers. */
  constructor(bytes: Buffer, limits: Limits) {
    this.#bytes = bytes
    this.#limits = limits
  }

  /** Reads on for about `ms`; `undefined`: there is more to read. */
  step(ms: number): JsonFound | undefined {
    const untilMs = performance.now() + ms
    while (this.#found === undefined) {
      const lookAt = this.#at + pieceBytes
      for (let n = 0; n < tokensPerLook && this.#at < lookAt && this.#found === undefined; n++)
        this.#readToken()
      if (performance.now() >= untilMs) break
    }
    return this.#found
  }

  #readToken(): void {
    if (this.#unread !== undefined) {
      this.#readText(this.#unread)
      return
    }
    const code = this.#skipSpace()
    if (isSpace(code)) return
    if (code === none) {
      if (this.#next === 'end') this.#found = { kind: 'value', value: this.#root }
      else this.#fail('Unexpected end of JSON input')
      return
    }
    switch (this.#next) {
      case 'value_or_end':
        if (code === closingBracket) this.#leave()
        else this.#readValue(code)
        break
      case 'value':
        this.#readValue(code)
        break
      case 'name_or_end':
        if (code === closingBrace) this.#leave()
        else this.#beginText(code)
        break
      case 'name':
        this.#beginText(code)
        break
      case 'colon':
        if (code === colon) this.#pass('value')
        else this.#fail()
        break
      case 'comma_or_end':
        this.#readSeparator(code)
        break
      case 'end':
        this.#fail()
        break
    }
  }

  #codeAt(at: number): number {
    return this.#bytes[at] ?? none
  }

  /** The next byte that is no white space, of which so much is skipped at a time. */
  #skipSpace(): number {
    const end = this.#at + spacesPerToken
    let code = this.#codeAt(this.#at)
    while (isSpace(code) && this.#at < end) code = this.#codeAt(++this.#at)
    return code
  }

  #readValue(code: number): void {
    switch (code) {
      case openingBrace:
        this.#enter({ fields: {}, name: '' }, 'name_or_end')
        break
      case openingBracket:
        this.#enter({ list: [] }, 'value_or_end')
        break
      case quote:
        this.#beginText(code)
        break
      case 0x74: // t
        this.#readWord('true', true)
        break
      case 0x66: // f
        this.#readWord('false', false)
        break
      case 0x6e: // n
        this.#readWord('null', null)
        break
      default:
        this.#readNumber()
        break
    }
  }

  #readSeparator(code: number): void {
    const inside = this.#open.at(-1)
    const isList = inside !== undefined && 'list' in inside
    if (code === (isList ? closingBracket : closingBrace)) this.#leave()
    else if (code === comma) this.#pass(isList ? 'value' : 'name')
    else this.#fail()
  }

  #enter(container: Container, next: Next): void {
    this.#count()
    if (this.#open.length >= this.#limits.depthMax) this.#found ??= { kind: 'too_deep' }
    this.#place('list' in container ? container.list : container.fields)
    this.#open.push(container)
    this.#pass(next)
  }

  #leave(): void {
    this.#open.pop()
    this.#pass(this.#open.length === 0 ? 'end' : 'comma_or_end')
  }

  #pass(next: Next): void {
    this.#at += 1
    this.#next = next
  }

  #beginText(code: number): void {
    if (code !== quote) {
      this.#fail()
      return
    }
    this.#count()
    this.#at += 1
    this.#readText({ pieces: [], carried: '' })
  }

  /** Goes on with a text: reads its next piece, which is all of most texts. */
  #readText(unread: Unread): void {
    const from = this.#at
    const end = endOfPiece(this.#bytes, from)
    const isLast = this.#bytes[end] === quote
    if (!isLast && end >= this.#bytes.length) {
      this.#fail('Unterminated string')
      return
    }
    const piece = findText(this.#bytes, from, end)
    if (piece === undefined) {
      this.#fail('Bad control character or escape in a string')
      return
    }
    this.#at = isLast ? end + 1 : end
    if (isLast && unread.pieces.length === 0) this.#endText(piece)
    else if (isLast) this.#endText(textOf([...unread.pieces, unread.carried + piece]))
    else this.#keepPiece(unread, unread.carried + piece)
  }

  #keepPiece(unread: Unread, piece: string): void {
    unread.carried = isHighSurrogate(piece.charCodeAt(piece.length - 1)) ? piece.slice(-1) : ''
    unread.pieces.push(unread.carried === '' ? piece : piece.slice(0, -1))
    this.#unread = unread
    if (this.#isName() && unread.pieces.length * pieceBytes >= nameBytesMax)
      this.#found ??= { kind: 'long_name' }
  }

  #endText(value: Text): void {
    this.#unread = undefined
    const inside = this.#open.at(-1)
    if (!this.#isName() || inside === undefined || 'list' in inside) {
      this.#place(value)
      return
    }
    inside.name = String(value)
    this.#next = 'colon'
  }

  #isName(): boolean {
    return this.#next === 'name' || this.#next === 'name_or_end'
  }

  #readNumber(): void {
    this.#numbers += 1
    if (this.#numbers > this.#limits.numbersMax) this.#found ??= { kind: 'too_many' }
    const start = this.#at
    let value = 0
    let code = this.#codeAt(this.#at)
    while (isDigit(code) && this.#at - start < plainDigitsMax) {
      value = value * 10 + code - 0x30
      code = this.#codeAt(++this.#at)
    }
    const length = this.#at - start
    const isPlain = length > 0 && !isOfNumber(code) && (length === 1 || this.#bytes[start] !== zero)
    if (isPlain) this.#place(value)
    else this.#readLongNumber(start)
  }

  #readLongNumber(start: number): void {
    let end = start
    while (isOfNumber(this.#codeAt(end)) && end - start <= numberLengthMax) end += 1
    const source = this.#bytes.toString('latin1', start, end)
    this.#at = start
    if (source.length > numberLengthMax) {
      this.#fail(`Number of more than ${numberLengthMax} characters`)
      return
    }
    if (!numberPattern.test(source)) {
      this.#fail()
      return
    }
    this.#at = end
    if (source.length > plainDigitsMax || /e/i.test(source)) this.#count()
    const value = Number(source)
    this.#place(Math.abs(value) >= exactMax ? JSON.rawJSON(source) : value)
  }

  #readWord(word: string, value: boolean | null): void {
    if (this.#bytes.toString('latin1', this.#at, this.#at + word.length) !== word) {
      this.#fail()
      return
    }
    this.#at += word.length
    this.#place(value)
  }

  #place(value: unknown): void {
    const inside = this.#open.at(-1)
    this.#next = inside === undefined ? 'end' : 'comma_or_end'
    if (inside === undefined) this.#root = value
    else if ('list' in inside) inside.list.push(value)
    else if (inside.name !== '__proto__') inside.fields[inside.name] = value
    else Object.defineProperty(inside.fields, inside.name, { ...plainField, value })
  }

  #count(): void {
    this.#parts += 1
    if (this.#parts > this.#limits.partsMax) this.#found ??= { kind: 'too_many' }
  }

  #fail(problem = unexpectedAt(this.#bytes, this.#at)): void {
    this.#found ??= { kind: 'not_json', problem }
  }
}

/** An assignment to `__proto__` would change what the object inherits. */
const plainField = { writable: true, enumerable: true, configurable: true }

/** Where a text that goes on at `from` ends, or its next piece: at no byte within a character or an escape. */
function endOfPiece(bytes: Buffer, from: number): number {
  const to = Math.min(from + pieceBytes, bytes.length)
  let at = from
  while (at < to && bytes[at] !== quote)
    at += bytes[at] === backslash ? (bytes[at + 1] === letterU ? 6 : 2) : 1
  while (isWithinCharacter(bytes[at])) at += 1
  return at
}

function isWithinCharacter(byte = 0): boolean {
  return (byte & 0xc0) === 0x80
}

/** The text between two quotes, or a part of it, if valid. */
function findText(bytes: Buffer, from: number, end: number): string | undefined {
  let every = 0
  let isPlain = true
  for (let at = from; at < end; at += 1) {
    const byte = bytes[at] ?? 0
    every |= byte
    if (byte < space || byte === backslash) isPlain = false
  }
  const written = bytes.toString(every < 0x80 ? 'latin1' : 'utf8', from, end)
  if (isPlain) return written
  try {
    return JSON.parse(`"${written}"`)
  } catch {
    return undefined
  }
}

function textOf(pieces: readonly string[]): Text {
  const text = new LongText(pieces)
  return text.length > stringLengthMax ? text : text.toString()
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00
}

function unexpectedAt(bytes: Buffer, at: number): string {
  if (at >= bytes.length) return 'Unexpected end of JSON input'
  const [character = ''] = bytes.toString('utf8', at, at + 4)
  return `Unexpected token ${JSON.stringify(character)} at position ${at}`
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}

/** A digit, or one of `+-.eE`. */
function isOfNumber(code: number): boolean {
  return isDigit(code) || code === 0x2b || code === 0x2d || code === 0x2e || (code | 0x20) === 0x65
}
