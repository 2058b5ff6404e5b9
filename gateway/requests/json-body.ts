import { isUtf8 } from 'node:buffer'
import type { Refusal } from '#core/errors/refusal'
import { invalidJson, invalidValue } from '../wire/errors.ts'
import { fieldsOf, type JsonObject } from '../wire/json-fields.ts'
import { type JsonFound, JsonSteps } from '../wire/json-steps.ts'
import { endOfString, isDigit, jsonDepthMax } from '../wire/json-text.ts'
import { LongText } from '../wire/long-text.ts'
import { atOnceBytesMax, nextTurn, stepMs } from '../wire/turns.ts'

/** Most strings (names included), arrays, objects and long numbers in a body: 18,000 messages of several parts each. */
const partsMax = 200_000
/** Most numbers in a body: of more a list takes over 10 ms each time that it grows. An embeddings request has 0.3 million tokens. */
const numbersMax = 4_000_000
const limits = { depthMax: jsonDepthMax, partsMax, numbersMax }
/** Some editors and Windows tools write it in front of UTF-8. */
const byteOrderMark = [0xef, 0xbb, 0xbf] as const
type Parsed = { readonly body: JsonObject } | { readonly refusal: Refusal }

/**
 * The object that a body is, or what is wrong with it: not UTF-8, not JSON, nested too deep, in too many parts, not an
 * object. A number beyond 2^53 is a `JSON.rawJSON`, so that it is passed on unchanged.
 *
 * Linear in the body's length. The last of two equal names wins; lone surrogates written as `\ud800` pass. A body that
 * takes long is read in steps of 1 ms, between which others are served; then it answers a promise.
 */
export function parseJsonBody(bytes: Buffer): Parsed | Promise<Parsed> {
  if (bytes.length === 0) return { refusal: invalidJson('it is empty.') }
  if (bytes.length > atOnceBytesMax) return parseInTurns(bytes)
  if (!isUtf8(bytes)) return notUtf8
  const json = withoutMark(bytes)
  const text = json.toString('utf8')
  const found = scan(text)
  if (found === 'long_numbers') return parseWithLongNumbers(json)
  if (found !== undefined) return refuse(found)
  try {
    return objectOf(JSON.parse(text))
  } catch (error) {
    return notJson(error instanceof Error ? error.message : 'it cannot be read')
  }
}

const notUtf8: Parsed = { refusal: invalidJson('it is not UTF-8.') }

function withoutMark(bytes: Buffer): Buffer {
  const isMarked =
    bytes[0] === byteOrderMark[0] && bytes[1] === byteOrderMark[1] && bytes[2] === byteOrderMark[2]
  return isMarked ? bytes.subarray(byteOrderMark.length) : bytes
}

async function parseInTurns(bytes: Buffer): Promise<Parsed> {
  await nextTurn()
  return isUtf8(bytes) ? readOn(new JsonSteps(withoutMark(bytes), limits)) : notUtf8
}

/** `JSON.parse` changes such a number, or takes 1 µs for each value to say how each was written. */
function parseWithLongNumbers(json: Buffer): Parsed | Promise<Parsed> {
  const steps = new JsonSteps(json, limits)
  const found = steps.step(stepMs)
  return found === undefined ? readOn(steps) : parsedOf(found)
}

async function readOn(steps: JsonSteps): Promise<Parsed> {
  for (;;) {
    await nextTurn()
    const found = steps.step(stepMs)
    if (found !== undefined) return parsedOf(found)
  }
}

function parsedOf(found: JsonFound): Parsed {
  if (found.kind === 'value') return objectOf(found.value)
  return found.kind === 'not_json' ? notJson(found.problem) : refuse(found.kind)
}

function objectOf(value: unknown): Parsed {
  const fields = fieldsOf(value)
  if (fields === undefined) return { refusal: invalidValue(null, 'must be a JSON object') }
  // A model's name is looked up: it is a string however long.
  return { body: fields.model instanceof LongText ? { ...fields, model: String(fields.model) } : fields }
}

function notJson(problem: string): Parsed {
  return { refusal: invalidJson(`${problem}.`) }
}

function refuse(found: 'too_deep' | 'too_many' | 'long_name'): Parsed {
  if (found === 'too_deep')
    return { refusal: invalidJson(`it is nested more than ${jsonDepthMax} levels deep.`) }
  if (found === 'long_name') return { refusal: invalidValue(null, 'has a field name of more than 256 KiB') }
  const problem = `has more than ${partsMax} strings, arrays and objects, or more than ${numbersMax} numbers; split it into smaller requests`
  return { refusal: invalidValue(null, problem) }
}

/**
 * Reads tokens, not grammar, before `JSON.parse` does: what it finds counts only if the text is JSON.
 *
 * One pass without recursion; strings are skipped by `indexOf`, which runs at memory speed.
 */
function scan(text: string): 'too_deep' | 'too_many' | 'long_numbers' | undefined {
  let depth = 0
  let parts = 0
  let hasLong = false
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 0x22: // "
        if (++parts > partsMax) return 'too_many'
        at = endOfString(text, at)
        break
      case 0x5b: // [
      case 0x7b: // {
        if (++depth > jsonDepthMax) return 'too_deep'
        if (++parts > partsMax) return 'too_many'
        break
      case 0x5d: // ]
      case 0x7d: // }
        if (depth > 0) depth--
        break
      default: {
        if (!isDigit(text.charCodeAt(at))) break // white space, colons, commas, signs, true, false, null
        const end = endOfDigits(text, at)
        if (isLong(text, at, end)) {
          if (++parts > partsMax) return 'too_many'
          hasLong = true
        }
        at = end - 1
      }
    }
  }
  return hasLong ? 'long_numbers' : undefined
}

function endOfDigits(text: string, start: number): number {
  let end = start
  while (isDigit(text.charCodeAt(end)) || text.charCodeAt(end) === 0x2e) end++
  return end
}

/** Only 16 digits or an exponent can reach 2^53; all other numbers cost nothing more. */
function isLong(text: string, start: number, end: number): boolean {
  return end - start >= 16 || (text.charCodeAt(end) | 0x20) === 0x65
}
