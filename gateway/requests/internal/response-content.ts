import { itemsOf, type JsonObject } from '../../wire/json-fields.ts'
import { isText, joinTexts, type Text } from '../../wire/long-text.ts'
import type { Fault } from './field-checks.ts'

export type Converted = { readonly parts: readonly JsonObject[] } | { readonly fault: Fault }

/** The content of a message or of an output as parts of a chat's message. @param path of the content. */
export function convertContent(content: unknown, path: string): Converted {
  if (isText(content)) return { parts: [{ type: 'text', text: content }] }
  const parts: JsonObject[] = []
  for (const [at, part] of itemsOf(content).entries()) {
    const converted = convertPart(part as JsonObject, `${path}[${at}]`)
    if ('problem' in converted) return { fault: converted as Fault }
    parts.push(converted)
  }
  return { parts }
}

/** Whether a part is words, which every provider takes everywhere. */
export function isWords({ type }: JsonObject): boolean {
  return type === 'text' || type === 'refusal'
}

function convertPart(part: JsonObject, path: string): JsonObject | Fault {
  switch (part.type) {
    case 'input_text':
    case 'output_text':
    case 'text':
    case 'summary_text':
      return isText(part.text)
        ? { type: 'text', text: part.text }
        : { path: `${path}.text`, problem: 'is required' }
    case 'refusal':
      return isText(part.refusal)
        ? { type: 'refusal', refusal: part.refusal }
        : { path: `${path}.refusal`, problem: 'is required' }
    case 'input_image':
      return convertImage(part, path)
    case 'input_file':
      return convertFile(part, path)
    case 'input_audio':
      return { type: 'input_audio', input_audio: part.input_audio }
    default:
      return {
        path: `${path}.type`,
        problem: 'must be input_text, input_image, input_file, input_audio, output_text or refusal',
        isNative: true,
      }
  }
}

const notUploaded = 'is not supported: the gateway does not store files'

function convertImage({ image_url: url, detail, file_id: id }: JsonObject, path: string): JsonObject | Fault {
  if (isGiven(id)) return { path: `${path}.file_id`, problem: `${notUploaded}. Send image_url` }
  if (!isText(url)) return { path: `${path}.image_url`, problem: 'must be a URL' }
  const level = detail === 'original' ? 'high' : detail
  return { type: 'image_url', image_url: { url, ...(isGiven(level) ? { detail: level } : {}) } }
}

function convertFile(part: JsonObject, path: string): JsonObject | Fault {
  const { file_data: data, filename, file_id: id, file_url: url } = part
  for (const [name, value] of [
    ['file_id', id],
    ['file_url', url],
  ] as const)
    if (isGiven(value))
      return { path: `${path}.${name}`, problem: `${notUploaded} or fetch them. Send file_data` }
  if (!isText(data)) return { path: `${path}.file_data`, problem: 'is required' }
  return { type: 'file', file: { file_data: dataUrlOf(data), ...(isGiven(filename) ? { filename } : {}) } }
}

/** Some clients send base64 without its type: then it is a PDF, the one type that providers take. */
function dataUrlOf(data: Text): Text {
  const isUrl = /^data:/i.test(
    typeof data === 'string' ? data.slice(0, 5) : (data.pieces[0] ?? '').slice(0, 5),
  )
  return isUrl ? data : joinTexts(['data:application/pdf;base64,', data])
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}
