import { isDigit } from '../../wire/json-text.ts'

/** What a text turned out to be, or the first thing that is wrong with it. */
export type JsonFound =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'not_json'; readonly problem: string }
  | { readonly kind: 'too_deep' | 'too_many' }

type Container = { readonly list: unknown[] } | { readonly fields: Record<string, unknown>; name: string }
type Limits = { readonly depthMax: number; readonly partsMax: number; readonly numbersMax: number }
/** A text that is being read: where the rest begins, how far its end was looked for, where it is, and what is read of it. */
type Unread = { from: number; searched: number; end: number | undefined; value: string }
/** What has to come next. */
type Next = 'value' | 'value_or_end' | 'name' | 'name_or_end' | 'colon' | 'comma_or_end' | 'end'

/** Above it doubles skip whole numbers. */
const exactMax = 2 ** 53
/** Whole numbers of so many digits are read digit by digit, and are exact. */
const plainDigitsMax = 15
/** Longest number, in characters: it is read in one piece. */
const numberLengthMax = 65_536
/** Part of a text that is read in one piece, in UTF-16 units: 1 ms where each is an escape. */
const pieceLength = 64 * 1024
/** Tokens between two looks at the clock: 10 to 50 µs. */
const tokensPerLook = 256
const numberPattern = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** White space that is skipped at a time. */
const spacesPerToken = 4096
/** Of `\u0000`. */
const escapeLengthMax = 6

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a] as const
const [openingBracket, closingBracket, openingBrace, closingBrace] = [0x5b, 0x5d, 0x7b, 0x7d] as const

/**
 * Reads a text as `JSON.parse` would, but in steps, each going on where the one before stopped; and a number beyond 2^53
 * as a `JSON.rawJSON`. It takes about four times as long in all, and no step a millisecond or two more than it may.
 */
export class JsonSteps {
  readonly #text: string
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
  constructor(text: string, limits: Limits) {
    this.#text = text
    this.#limits = limits
  }

  /** Reads on for about `ms`; `undefined`: there is more to read. */
  step(ms: number): JsonFound | undefined {
    const untilMs = performance.now() + ms
    while (this.#found === undefined) {
      const lookAt = this.#at + pieceLength
      for (let n = 0; n < tokensPerLook && this.#at < lookAt && this.#found === undefined; n++) {
        this.#readToken()
        if (this.#unread !== undefined) break // a long one, or one with quotes in it
      }
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
    if (Number.isNaN(code)) {
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

  /** The next unit that is no white space, of which so much is skipped at a time. */
  #skipSpace(): number {
    const end = this.#at + spacesPerToken
    let code = this.#text.charCodeAt(this.#at)
    while (isSpace(code) && this.#at < end) code = this.#text.charCodeAt(++this.#at)
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
    const from = this.#at + 1
    this.#unread = { from, searched: from, end: undefined, value: '' }
    this.#readText(this.#unread)
  }

  /** Goes on with a text: its end is looked for, quote by quote; then it is read piece by piece. */
  #readText(unread: Unread): void {
    if (unread.end === undefined) {
      const end = this.#text.indexOf('"', unread.searched)
      if (end === -1) {
        this.#fail('Unterminated string')
        return
      }
      unread.searched = end + 1
      if (isEscaped(this.#text, end, unread.from)) return
      unread.end = end
    }
    const { from, end } = unread
    const to = end - from <= pieceLength ? end : cutBefore(this.#text, from, from + pieceLength)
    const piece = findText(this.#text.slice(from, to))
    if (piece === undefined) {
      this.#fail('Bad control character or escape in a string')
      return
    }
    unread.value += piece
    unread.from = to
    if (to === end) this.#endText(unread.value, end)
  }

  #endText(value: string, end: number): void {
    this.#unread = undefined
    this.#at = end + 1
    const inside = this.#open.at(-1)
    const isName = this.#next === 'name' || this.#next === 'name_or_end'
    if (!isName || inside === undefined || 'list' in inside) {
      this.#place(value)
      return
    }
    inside.name = value
    this.#next = 'colon'
  }

  #readNumber(): void {
    this.#numbers += 1
    if (this.#numbers > this.#limits.numbersMax) this.#found ??= { kind: 'too_many' }
    const start = this.#at
    let value = 0
    let code = this.#text.charCodeAt(this.#at)
    while (isDigit(code) && this.#at - start < plainDigitsMax) {
      value = value * 10 + code - 0x30
      code = this.#text.charCodeAt(++this.#at)
    }
    const length = this.#at - start
    const isPlain = length > 0 && !isOfNumber(code) && (length === 1 || this.#text[start] !== '0')
    if (isPlain) this.#place(value)
    else this.#readLongNumber(start)
  }

  #readLongNumber(start: number): void {
    let end = start
    while (isOfNumber(this.#text.charCodeAt(end)) && end - start <= numberLengthMax) end += 1
    const source = this.#text.slice(start, end)
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
    if (!this.#text.startsWith(word, this.#at)) {
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

  #fail(problem = unexpectedAt(this.#text, this.#at)): void {
    this.#found ??= { kind: 'not_json', problem }
  }
}

/** An assignment to `__proto__` would change what the object inherits. */
const plainField = { writable: true, enumerable: true, configurable: true }

/** What stands between two quotes, if it may. */
function findText(inner: string): string | undefined {
  try {
    return JSON.parse(`"${inner}"`)
  } catch {
    return undefined
  }
}

/** Whether an odd number of backslashes stands before `at`. */
function isEscaped(text: string, at: number, from: number): boolean {
  let first = at
  while (first > from && text.charCodeAt(first - 1) === backslash) first -= 1
  return (at - first) % 2 === 1
}

/** `to`, or where the escape begins that it would cut in two; `from` is within none. */
function cutBefore(text: string, from: number, to: number): number {
  const last = to - escapeLengthMax + 1 + text.slice(to - escapeLengthMax + 1, to).lastIndexOf('\\')
  const isThere = text.charCodeAt(last) === backslash
  return isThere && !isEscaped(text, last, from) ? last : to
}

function unexpectedAt(text: string, at: number): string {
  return at >= text.length
    ? 'Unexpected end of JSON input'
    : `Unexpected token ${JSON.stringify(text.slice(at, at + 1))} at position ${at}`
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}

/** A digit, or one of `+-.eE`. */
function isOfNumber(code: number): boolean {
  return isDigit(code) || code === 0x2b || code === 0x2d || code === 0x2e || (code | 0x20) === 0x65
}
