import { isUtf8 } from 'node:buffer'
import { invalidJson, invalidValue, type Refusal } from '../errors.ts'
import { fieldsOf, type JsonObject } from '../json-fields.ts'

/** Deepest nesting of arrays and objects in a body; `contract.md`, Errors. */
const depthMax = 200
/**
 * Most texts (names included), lists, objects and long numbers in a body: 18,000 messages of several parts each. A
 * byte of them takes up to 50 times as long to read as one of a long text; so many take up to 0.6 s of everybody's time.
 * Plain numbers are not counted: 32 MiB of tokens are read in a second.
 */
const partsMax = 200_000
/** Some editors and Windows tools write it in front of UTF-8. */
const byteOrderMark = 0xfeff
const integerMax = 2 ** 53
const pathLengthMax = 200
const numberPattern = /\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y

/**
 * The object that a body is, or what is wrong with it: not UTF-8, not JSON, nested too deep, in too many parts, an
 * integer that a double cannot carry, not an object.
 *
 * Linear in the body's length. The last of two equal names wins; lone surrogates written as `\ud800` pass.
 */
export function parseJsonBody(bytes: Buffer): { readonly body: JsonObject } | { readonly refusal: Refusal } {
  if (bytes.length === 0) return { refusal: invalidJson('it is empty.') }
  if (!isUtf8(bytes)) return { refusal: invalidJson('it is not UTF-8.') }
  const decoded = bytes.toString('utf8')
  const text = decoded.charCodeAt(0) === byteOrderMark ? decoded.slice(1) : decoded
  const fault = findFault(text)
  if (fault === 'too_deep') return { refusal: invalidJson(`it is nested deeper than ${depthMax}.`) }
  if (fault === 'too_many')
    return {
      refusal: invalidValue(null, `has more than ${partsMax} texts, lists and objects; send less at a time`),
    }
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch (error) {
    return { refusal: invalidJson(error instanceof Error ? `${error.message}.` : 'it cannot be read.') }
  }
  if (fault !== undefined)
    return {
      refusal: invalidValue(fault.path, 'is an integer beyond 2^53, which JSON readers cannot carry exactly'),
    }
  const fields = fieldsOf(body)
  return fields === undefined ? { refusal: invalidValue(null, 'must be a JSON object') } : { body: fields }
}

/**
 * Where the reader stands in each open array or object, so that a fault can name its field.
 *
 * One for all bodies, since reading one is never interrupted: making it anew costs more than reading 1 KB.
 */
const trail = {
  /** Index of the element being read at a depth; -1 in an object. */
  index: new Int32Array(depthMax + 1),
  /** Where the last string at a depth begins and ends: in an object, the name of the value being read. */
  nameStart: new Int32Array(depthMax + 1),
  nameEnd: new Int32Array(depthMax + 1),
}

/**
 * Reads tokens, not grammar, before `JSON.parse` does: what it finds counts only if the text is JSON.
 *
 * One pass without recursion; strings are skipped by `indexOf`, which runs at memory speed.
 */
function findFault(text: string): 'too_deep' | 'too_many' | { readonly path: string } | undefined {
  let fault: { readonly path: string } | undefined
  let depth = 0
  let parts = 0
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 0x22: {
        if (++parts > partsMax) return 'too_many'
        const end = endOfString(text, at)
        trail.nameStart[depth] = at
        trail.nameEnd[depth] = end
        at = end
        break
      }
      case 0x5b: // [
      case 0x7b: // {
        if (++depth > depthMax) return 'too_deep'
        if (++parts > partsMax) return 'too_many'
        trail.index[depth] = text.charCodeAt(at) === 0x5b ? 0 : -1
        break
      case 0x5d: // ]
      case 0x7d: // }
        if (depth > 0) depth--
        break
      case 0x2c: // ,
        if (trail.index[depth] !== -1) trail.index[depth] = (trail.index[depth] ?? 0) + 1
        break
      default: {
        if (!isDigit(text.charCodeAt(at))) break // white space, colons, signs, true, false, null
        const end = endOfDigits(text, at)
        if (isSuspect(text, at, end)) {
          if (++parts > partsMax) return 'too_many'
          if (!isCarried(text, at)) fault ??= { path: pathOf(text, depth) }
        }
        at = end - 1
      }
    }
  }
  return fault
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

/** Whether a double carries the number at `start`: any fraction, and whole numbers up to 2^53. */
function isCarried(text: string, start: number): boolean {
  numberPattern.lastIndex = start
  const token = numberPattern.exec(text)?.[0] ?? ''
  const value = Number(token)
  // The neighbours of 2^53 round to it: only its own digits are exact.
  return value < integerMax || (value === integerMax && token === String(integerMax))
}

/** The path of the value being read, as `messages[0].content`, cut where it gets long. Runs once, for the first fault. */
function pathOf(text: string, depth: number): string {
  let path = ''
  for (let level = 1; level <= depth && path.length < pathLengthMax; level++) {
    const index = trail.index[level] ?? 0
    const start = (trail.nameStart[level] ?? 0) + 1
    const end = Math.min(trail.nameEnd[level] ?? 0, start + pathLengthMax)
    path += index >= 0 ? `[${index}]` : `${path === '' ? '' : '.'}${text.slice(start, end)}`
  }
  return path.slice(0, pathLengthMax)
}
