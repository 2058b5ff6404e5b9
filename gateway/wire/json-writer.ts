import { fieldsOf, type JsonObject } from './json-fields.ts'
import { LongText } from './long-text.ts'
import { atOnceBytesMax, inTurns } from './turns.ts'

/** JSON as it is sent: whole, or in pieces if it is large. */
export type JsonBytes = Buffer | readonly Buffer[]

/** Length of a piece, in UTF-16 units, from which on it is handed over: a tenth of a millisecond. */
const pieceLength = 64 * 1024

/** `json`, which came in a body of so many bytes, as it is sent: what was large is written in turns. */
export function writeJson(json: JsonObject, bodyBytes: number): JsonBytes | Promise<JsonBytes> {
  return bodyBytes > atOnceBytesMax ? inTurns(bytesInSteps(json)) : Buffer.from(JSON.stringify(json))
}

function* bytesInSteps(json: JsonObject): Generator<undefined, readonly Buffer[]> {
  const written: Buffer[] = []
  for (const piece of jsonPieces(json)) {
    written.push(Buffer.from(piece))
    yield
  }
  return written
}

/**
 * What `JSON.stringify` writes of a value that was read from JSON, piece by piece. None takes longer than a millisecond
 * and no character is cut in two, unless a string is longer than `stringLengthMax`.
 */
export function* jsonPieces(value: unknown): Generator<string, void> {
  const unsent = { text: '' }
  yield* writeValue(value, unsent)
  yield unsent.text
}

type Unsent = { text: string }

function* writeValue(value: unknown, unsent: Unsent): Generator<string, void> {
  if (value instanceof LongText) yield* writeText(value, unsent)
  else if (Array.isArray(value)) yield* writeList(value, unsent)
  else {
    const fields = fieldsOf(value)
    if (fields === undefined) unsent.text += JSON.stringify(value)
    else yield* writeFields(fields, unsent)
  }
}

function* writeText({ pieces }: LongText, unsent: Unsent): Generator<string, void> {
  unsent.text += '"'
  for (const piece of pieces) {
    unsent.text += JSON.stringify(piece).slice(1, -1)
    yield take(unsent)
  }
  unsent.text += '"'
}

function* writeList(list: readonly unknown[], unsent: Unsent): Generator<string, void> {
  unsent.text += '['
  for (let at = 0; at < list.length; at += 1) {
    if (at > 0) unsent.text += ','
    const item = list[at]
    if (typeof item === 'object') yield* writeValue(item, unsent)
    else unsent.text += typeof item === 'number' ? String(item) : JSON.stringify(item)
    if (unsent.text.length >= pieceLength) yield take(unsent)
  }
  unsent.text += ']'
}

function* writeFields(fields: JsonObject, unsent: Unsent): Generator<string, void> {
  unsent.text += '{'
  let separator = ''
  for (const name of Object.keys(fields)) {
    const value = fields[name]
    if (value === undefined) continue
    unsent.text += `${separator}${JSON.stringify(name)}:`
    separator = ','
    if (typeof value === 'object') yield* writeValue(value, unsent)
    else unsent.text += JSON.stringify(value)
    if (unsent.text.length >= pieceLength) yield take(unsent)
  }
  unsent.text += '}'
}

function take(unsent: Unsent): string {
  const { text } = unsent
  unsent.text = ''
  return text
}
