import { fieldsOf, itemsOf, type JsonObject } from '../wire/json-fields.ts'
import { jsonPieces } from '../wire/json-writer.ts'
import { isText, piecesOf, type Text } from '../wire/long-text.ts'
import { findReference, isTextPart } from './prompt-content.ts'

/** A part of a prompt that is no text: its bytes in base64 where they came along. */
export type MediaPart =
  | { readonly kind: 'image'; readonly base64: readonly string[] | null; readonly detail: 'low' | 'high' }
  | { readonly kind: 'audio'; readonly base64: readonly string[]; readonly format: string }
  | { readonly kind: 'pdf'; readonly base64: readonly string[] }

/** A prompt taken apart for measuring: nothing of it is in two of these. */
export type MeasurablePrompt = {
  readonly texts: readonly string[]
  /** Bytes of everything else as JSON: names, roles, tools, parameters. */
  readonly otherBytes: number
  readonly media: readonly MediaPart[]
}

/** More media than any provider takes in one request; each costs a thread some tenths of a millisecond at least. */
const mediaMax = 1_000

/**
 * Takes a chat request apart, in steps of less than a millisecond. `null` if a part of it cannot be measured:
 * a file that only its provider has, a video, an unknown kind of part.
 */
export function* takeApart(request: JsonObject): Generator<undefined, MeasurablePrompt | null> {
  const texts: string[] = []
  const media: MediaPart[] = []
  const messages: unknown[] = []
  for (const message of itemsOf(request.messages)) {
    const rest = restOf(fieldsOf(message) ?? {}, texts, media)
    if (rest === null || media.length > mediaMax) return null
    messages.push(rest)
    yield
  }
  let otherBytes = 0
  for (const piece of jsonPieces({ ...request, messages })) {
    otherBytes += Buffer.byteLength(piece)
    yield
  }
  return { texts, otherBytes, media }
}

/** A message without its texts and media, which go to the lists; `null`: part of it cannot be measured. */
function restOf(message: JsonObject, texts: string[], media: MediaPart[]): JsonObject | null {
  const { content } = message
  if (findReference(message) !== null) return null
  if (isText(content)) {
    texts.push(...piecesOf(content))
    return { ...message, content: '' }
  }
  if (!Array.isArray(content)) return message
  const parts: unknown[] = []
  for (const item of content) {
    const part = fieldsOf(item) ?? {}
    if (isTextPart(part)) {
      const text = part.text ?? part.refusal
      if (isText(text)) texts.push(...piecesOf(text))
      parts.push({ ...part, text: '', refusal: '' })
      continue
    }
    const found = mediaOf(part)
    if (found === null) return null
    media.push(found)
    parts.push({ type: part.type })
  }
  return { ...message, content: parts }
}

/** The media in a part that is no text; any field that is not of its kind makes it another kind. */
function mediaOf(part: JsonObject): MediaPart | null {
  const allowed = ['type', 'cache_control', String(part.type)]
  if (Object.keys(part).some((name) => !allowed.includes(name))) return null
  switch (part.type) {
    case 'image_url':
      return imageOf(part.image_url)
    case 'input_audio':
      return audioOf(fieldsOf(part.input_audio) ?? {})
    case 'file':
      return fileOf(fieldsOf(part.file) ?? {})
    default:
      return null
  }
}

function imageOf(given: unknown): MediaPart | null {
  const url = isText(given) ? given : fieldsOf(given)?.url
  if (!isText(url)) return null
  const detail = fieldsOf(given)?.detail === 'low' ? 'low' : 'high'
  const data = dataOf(url)
  if (data === undefined) return { kind: 'image', base64: null, detail }
  if (data.type === 'application/pdf') return { kind: 'pdf', base64: data.base64 }
  return { kind: 'image', base64: data.base64, detail }
}

function audioOf({ data, format }: JsonObject): MediaPart | null {
  if (!isText(data) || typeof format !== 'string') return null
  return { kind: 'audio', base64: piecesOf(data), format }
}

function fileOf(file: JsonObject): MediaPart | null {
  if (file.file_id !== undefined || !isText(file.file_data)) return null
  const data = dataOf(file.file_data)
  return data?.type === 'application/pdf' ? { kind: 'pdf', base64: data.base64 } : null
}

/** Longest head of a data URL that is looked at, in UTF-16 units: types have a few dozen. */
const headLengthMax = 200

function dataOf(url: Text): { readonly type: string; readonly base64: readonly string[] } | undefined {
  const [first = '', ...others] = piecesOf(url)
  const head = /^data:([^;,]+)(?:;[^;,]*)*;base64,/.exec(first.slice(0, headLengthMax))
  if (head === null) return undefined
  return { type: head[1] ?? '', base64: [first.slice(head[0].length), ...others] }
}
