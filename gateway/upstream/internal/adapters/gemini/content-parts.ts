import { detectImageType, signatureBytes } from '../../../../wire/image-type.ts'
import { fieldsOf, itemsOf, type JsonObject } from '../../../../wire/json-fields.ts'
import { isText, type Text } from '../../../../wire/long-text.ts'
import { beginOf, isBase64, parseDataUrl } from '../../data-url.ts'
import { type Blob, reject, type Writing } from './writing.ts'

/** One of Gemini's parts: `text`, `inlineData`, `functionCall`, … */
export type Part = JsonObject

/** https://ai.google.dev/gemini-api/docs/image-understanding, read 2026-11-20: no GIF. */
const imageTypes: ReadonlySet<string | undefined> = new Set([
  'image/png',
  'image/jpeg',
  'image/webp',
  'image/heic',
  'image/heif',
])
const notAnImage = 'must be a PNG, JPEG, WebP, HEIC or HEIF image: this model takes no other type'
/** https://ai.google.dev/gemini-api/docs/document-processing: beyond PDF, texts are read as they are. */
const fileType = /^(?:application\/pdf|application\/json|text\/[\w.+-]+)$/
const audioTypes: Readonly<Record<string, string>> = { wav: 'audio/wav', mp3: 'audio/mp3' }

/** The parts of a content that may have only text. Empty texts are left out: a part must have something. */
export function writeTexts(content: unknown, param: string, writing: Writing): readonly Part[] {
  return writeContent(content, param, writing, (part, at) => {
    const text = part.type === 'refusal' ? part.refusal : part.text
    if ((part.type === 'text' || part.type === 'refusal') && isText(text)) return textParts(text)
    reject(writing, `${at}.type`, 'must be "text" in a message with this role')
    return []
  })
}

/** The parts of a user's content. */
export function writeUserParts(content: unknown, param: string, writing: Writing): readonly Part[] {
  return writeContent(content, param, writing, (part, at) => writeUserPart(part, at, writing))
}

function writeContent(
  content: unknown,
  param: string,
  writing: Writing,
  write: (part: JsonObject, at: string) => readonly Part[],
): readonly Part[] {
  if (isText(content)) return textParts(content)
  return itemsOf(content).flatMap((item, index) => {
    const at = `${param}[${index}]`
    const part = fieldsOf(item)
    if (part !== undefined) return write(part, at)
    reject(writing, at, 'must be an object')
    return []
  })
}

function textParts(text: Text): readonly Part[] {
  return text.length === 0 ? [] : [{ text }]
}

function writeUserPart(part: JsonObject, param: string, writing: Writing): readonly Part[] {
  switch (part.type) {
    case 'text':
      return isText(part.text) ? textParts(part.text) : []
    case 'image_url':
      return writeImage(part.image_url, `${param}.image_url`, writing)
    case 'file':
      return writeFile(fieldsOf(part.file), `${param}.file`, writing)
    case 'input_audio':
      return writeAudio(fieldsOf(part.input_audio), `${param}.input_audio`, writing)
    default:
      reject(writing, `${param}.type`, 'must be "text", "image_url", "file" or "input_audio" for this model')
      return []
  }
}

function writeImage(given: unknown, path: string, writing: Writing): readonly Part[] {
  const [url, param] = isText(given) ? [given, path] : [fieldsOf(given)?.url, `${path}.url`]
  if (typeof url === 'string' && /^https?:/i.test(url)) {
    const blob: Blob = { mimeType: '', data: '' }
    writing.missingImages.push({ url, param, blob })
    return [{ inlineData: blob }]
  }
  const data = isText(url) ? parseDataUrl(url) : undefined
  if (data === undefined) {
    reject(writing, param, 'must be an http or https URL, or a valid base64 data URL')
    return []
  }
  const mimeType = typeOfImage(data.base64)
  if (mimeType === undefined) reject(writing, param, notAnImage)
  return [{ inlineData: { mimeType, data: data.base64 } }]
}

/** By its bytes: callers often name another type. */
function typeOfImage(base64: Text): string | undefined {
  const head = beginOf(base64, Math.ceil(signatureBytes / 3) * 4)
  const type = detectImageType(Buffer.from(head, 'base64'))
  return imageTypes.has(type) ? type : undefined
}

/** Notes that a fetched image is of a type that Gemini does not take. */
export function checkImageType(mediaType: string, param: string, writing: Writing): void {
  if (!imageTypes.has(mediaType)) reject(writing, param, notAnImage)
}

function writeFile(file: JsonObject | undefined, param: string, writing: Writing): readonly Part[] {
  const url = file?.file_data
  const data = isText(url) ? parseDataUrl(url) : undefined
  if (data === undefined)
    reject(
      writing,
      `${param}.file_data`,
      'must be a valid base64 data URL: this model has no access to uploaded files',
    )
  else if (!fileType.test(data.mediaType))
    reject(writing, `${param}.file_data`, 'must be of type application/pdf, application/json or text')
  else return [{ inlineData: { mimeType: data.mediaType, data: data.base64 } }]
  return []
}

function writeAudio(audio: JsonObject | undefined, param: string, writing: Writing): readonly Part[] {
  const { data, format } = audio ?? {}
  const mimeType = Object.entries(audioTypes).find(([name]) => name === format)?.[1]
  if (mimeType === undefined) reject(writing, `${param}.format`, 'must be "wav" or "mp3"')
  else if (!isText(data) || !isBase64(data)) reject(writing, `${param}.data`, 'must be valid base64')
  else return [{ inlineData: { mimeType, data } }]
  return []
}
