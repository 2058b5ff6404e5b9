import { fieldsOf, itemsOf, type JsonObject } from '../../../../wire/json-fields.ts'
import { isText, type Text } from '../../../../wire/long-text.ts'
import { type Failure, failureOfRequest } from '../../../failure.ts'
import { isFailure } from '../../../provider-adapter.ts'
import { parseDataUrl } from '../../data-url.ts'

export type Block = JsonObject

/** Types of images that the API takes (vision guide, 2026-11-25). */
const imageTypes: readonly string[] = ['image/jpeg', 'image/png', 'image/gif', 'image/webp']

/**
 * The blocks of a message's content. The API rejects texts of white space only: they are left out.
 *
 * @param path of the message: `messages[1]`.
 */
export function writeContent(content: unknown, path: string): readonly Block[] | Failure {
  if (isText(content)) return isBlank(content) ? [] : [{ type: 'text', text: content }]
  const blocks: Block[] = []
  for (const [at, given] of itemsOf(content).entries()) {
    const part = fieldsOf(given) ?? {}
    const written = writePart(part, `${path}.content[${at}]`)
    if (written === undefined) continue
    if (isFailure(written)) return written
    blocks.push({ ...written, ...cacheMarkOf(part) })
  }
  return blocks
}

/** Anthropic's mark for its cache. Callers do not choose how long it is kept: an hour costs more than the price covers. */
export function cacheMarkOf({ cache_control }: JsonObject): JsonObject {
  return fieldsOf(cache_control) === undefined ? {} : { cache_control: { type: 'ephemeral' } }
}

function writePart(part: JsonObject, path: string): Block | Failure | undefined {
  switch (part.type) {
    case 'text':
    case 'refusal': {
      const text = part.text ?? part.refusal
      return isText(text) && !isBlank(text) ? { type: 'text', text } : undefined
    }
    case 'image_url':
      return writeImage(part.image_url, `${path}.image_url`)
    case 'file':
      return writeFile(fieldsOf(part.file) ?? {}, `${path}.file`)
    default:
      return failureOfRequest(`${path}.type`, 'must be text, image_url or file for this model')
  }
}

function writeImage(given: unknown, path: string): Block | Failure {
  const url = fieldsOf(given)?.url ?? given
  const param = fieldsOf(given) === undefined ? path : `${path}.url`
  if (!isText(url)) return failureOfRequest(param, 'must be a URL')
  const data = parseDataUrl(url)
  if (data !== undefined) {
    if (!imageTypes.includes(data.mediaType))
      return failureOfRequest(param, 'must be a JPEG, PNG, GIF or WebP image for this model')
    return { type: 'image', source: { type: 'base64', media_type: data.mediaType, data: data.base64 } }
  }
  if (typeof url === 'string' && /^https:\/\//i.test(url))
    return { type: 'image', source: { type: 'url', url } }
  return failureOfRequest(param, 'must be an https URL or a valid base64 data URL for this model')
}

function writeFile({ file_data: url, filename }: JsonObject, path: string): Block | Failure {
  if (!isText(url)) return failureOfRequest(path, 'must have file_data: this model knows no uploaded files')
  const data = parseDataUrl(url)
  if (data?.mediaType !== 'application/pdf')
    return failureOfRequest(`${path}.file_data`, 'must be a base64 data URL of a PDF for this model')
  const source = { type: 'base64', media_type: data.mediaType, data: data.base64 }
  return { type: 'document', source, ...(typeof filename === 'string' ? { title: filename } : {}) }
}

/** A long text counts as not blank: 256 KiB of white space are no prompt. */
function isBlank(text: Text): boolean {
  return typeof text === 'string' && text.trim() === ''
}
