import { isUtf8 } from 'node:buffer'
import type { Refusal } from '#cabinet/refusals/refusal'
import { invalidJson, invalidValue } from '../wire/errors.ts'
import { fieldsOf, type JsonObject } from '../wire/json-fields.ts'

/** Deepest nesting of arrays and objects in a body. */
const depthMax = 200
/**
 * Most strings (names included), arrays, objects and long numbers in a body: 18,000 messages of several parts each. A
 * byte of them takes up to 50 times as long to parse as one of a long string; this many block everybody for up to 0.6 s.
 * Plain numbers are not counted: 32 MiB of tokens are parsed in a second.
 */
const partsMax = 200_000
/** Some editors and Windows tools write it in front of UTF-8. */
const byteOrderMark = 0xfeff
/** Above it doubles skip whole numbers. */
const exactMax = 2 ** 53
const numberPattern = /\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y

/**
 * The object that a body is, or what is wrong with it: not UTF-8, not JSON, nested too deep, in too many parts, not an
 * object. A number beyond 2^53 is a `JSON.rawJSON`, so that it is passed on unchanged.
 *
 * Linear in the body's length. The last of two equal names wins; lone surrogates written as `\ud800` pass.
 */
export function parseJsonBody(bytes: Buffer): { readonly body: JsonObject } | { readonly refusal: Refusal } {
  if (bytes.length === 0) return { refusal: invalidJson('it is empty.') }
  if (!isUtf8(bytes)) return { refusal: invalidJson('it is not UTF-8.') }
  const decoded = bytes.toString('utf8')
  const text = decoded.charCodeAt(0) === byteOrderMark ? decoded.slice(1) : decoded
  const found = scan(text)
  if (found === 'too_deep') return { refusal: invalidJson(`it is nested more than ${depthMax} levels deep.`) }
  if (found === 'too_many')
    return {
      refusal: invalidValue(
        null,
        `has more than ${partsMax} strings, arrays and objects (if it has a number beyond 2^53, values of any kind); split it into smaller requests`,
      ),
    }
  let body: unknown
  try {
    body = found === 'large_numbers' ? JSON.parse(text, keepLarge) : JSON.parse(text)
  } catch (error) {
    return { refusal: invalidJson(error instanceof Error ? `${error.message}.` : 'it cannot be read.') }
  }
  const fields = fieldsOf(body)
  return fields === undefined ? { refusal: invalidValue(null, 'must be a JSON object') } : { body: fields }
}

function keepLarge(_name: string, value: unknown, { source }: { readonly source?: string }): unknown {
  const isLarge = typeof value === 'number' && Math.abs(value) >= exactMax && source !== undefined
  return isLarge ? JSON.rawJSON(source) : value
}

/**
 * Reads tokens, not grammar, before `JSON.parse` does: what it finds counts only if the text is JSON.
 *
 * One pass without recursion; strings are skipped by `indexOf`, which runs at memory speed. With a
 * large number `JSON.parse` takes 1 µs for each value of the body, so then all of them count.
 */
function scan(text: string): 'too_deep' | 'too_many' | 'large_numbers' | undefined {
  let depth = 0
  let parts = 0
  let commas = 0
  let hasLarge = false
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 0x22: // "
        if (++parts > partsMax) return 'too_many'
        at = endOfString(text, at)
        break
      case 0x5b: // [
      case 0x7b: // {
        if (++depth > depthMax) return 'too_deep'
        if (++parts > partsMax) return 'too_many'
        break
      case 0x5d: // ]
      case 0x7d: // }
        if (depth > 0) depth--
        break
      case 0x2c: // ,
        commas++
        break
      default: {
        if (!isDigit(text.charCodeAt(at))) break // white space, colons, signs, true, false, null
        const end = endOfDigits(text, at)
        if (isSuspect(text, at, end)) {
          if (++parts > partsMax) return 'too_many'
          hasLarge ||= isLarge(text, at)
        }
        at = end - 1
      }
    }
  }
  if (!hasLarge) return undefined
  return commas > partsMax ? 'too_many' : 'large_numbers'
}

/** Where the string that begins at `start` ends: its closing quote, or the end of the text. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0
    while (text.charCodeAt(end - 1 - backslashes) === 0x5c) backslashes++
    if (backslashes % 2 === 0) return end
  }
  return text.length
}

function endOfDigits(text: string, start: number): number {
  let end = start
  while (isDigit(text.charCodeAt(end)) || text.charCodeAt(end) === 0x2e) end++
  return end
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

/** Only 16 digits or an exponent can reach 2^53; all other numbers cost nothing more. */
function isSuspect(text: string, start: number, end: number): boolean {
  return end - start >= 16 || (text.charCodeAt(end) | 0x20) === 0x65
}

function isLarge(text: string, start: number): boolean {
  numberPattern.lastIndex = start
  return Number(numberPattern.exec(text)?.[0]) >= exactMax
}
