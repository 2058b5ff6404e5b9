import { fieldsOf, itemsOf, type JsonObject } from '../../wire/json-fields.ts'
import { isText, joinTexts, type Text } from '../../wire/long-text.ts'
import type { Fault } from './field-checks.ts'
import { checkBlock } from './messages-checks.ts'

/** Parts of a chat's message, each with the path of the block that it was made of. */
type PlacedParts = readonly (readonly [part: JsonObject, path: string])[]

type Converted = { readonly parts: PlacedParts } | { readonly fault: Fault }

/** The blocks of a content, each checked and with its path. A text is one block. */
export function* blocksOf(
  content: unknown,
  path: string,
): Generator<{ readonly block: JsonObject; readonly path: string; readonly fault: Fault | undefined }> {
  if (isText(content)) {
    if (content.length > 0) yield { block: { type: 'text', text: content }, path, fault: undefined }
    return
  }
  for (const [at, given] of itemsOf(content).entries()) {
    const place = `${path}[${at}]`
    const fault = checkBlock(given)
    yield {
      block: given as JsonObject,
      path: place,
      fault: fault && { path: `${place}${fault.path}`, problem: fault.problem },
    }
  }
}

/** Words, images and documents; `undefined`: a chat has no place for a block of this kind. Empty texts are left out. */
export function convertBlock(block: JsonObject, path: string): Converted | undefined {
  switch (block.type) {
    case 'text':
      return (block.text as Text).length === 0 ? { parts: [] } : wordsAt(path, block.text, markOf(block))
    case 'image':
      return convertImage(block, path)
    case 'document':
      return convertDocument(block, path)
    case 'search_result':
      return convertSearchResult(block, path)
    case 'tool_reference':
      return wordsAt(path, `The tool ${block.tool_name} is available now.`)
    default:
      return undefined
  }
}

function wordsAt(path: string, text: unknown, mark: JsonObject = {}) {
  return { parts: [[{ type: 'text', text, ...mark }, path]] } satisfies Converted
}

/** The mark of Anthropic's cache: some providers take it, and from others it is kept. */
export function markOf({ cache_control }: JsonObject): JsonObject {
  return fieldsOf(cache_control) === undefined ? {} : { cache_control }
}

const notStored = 'is not supported: the gateway does not store files'

function convertImage(block: JsonObject, path: string): Converted {
  const { type, media_type: mediaType, data, url } = block.source as JsonObject
  const image = (address: Text): Converted => ({
    parts: [[{ type: 'image_url', image_url: { url: address }, ...markOf(block) }, path]],
  })
  if (type === 'base64') {
    if (!isText(data)) return missing(`${path}.source.data`)
    return image(joinTexts([`data:${mediaType};base64,`, data]))
  }
  if (type === 'url') return isText(url) ? image(url) : missing(`${path}.source.url`)
  return { fault: { path: `${path}.source.type`, problem: `${notStored}. Send base64 or url` } }
}

function convertDocument(block: JsonObject, path: string): Converted {
  const { type, data, content, media_type: mediaType = 'application/pdf' } = block.source as JsonObject
  const { title } = block
  switch (type) {
    case 'base64': {
      if (!isText(data)) return missing(`${path}.source.data`)
      const file_data = joinTexts([`data:${mediaType};base64,`, data])
      const file = { file_data, ...(isText(title) ? { filename: String(title) } : {}) }
      return { parts: [[{ type: 'file', file, ...markOf(block) }, path]] }
    }
    case 'text':
      if (!isText(data)) return missing(`${path}.source.data`)
      return below([title, block.context], path, wordsAt(path, data, markOf(block)))
    case 'content':
      return below([title, block.context], path, convertWithin(content, `${path}.source.content`))
    default:
      return {
        fault: {
          path: `${path}.source.type`,
          problem: `${notStored} or fetch them. Send base64, text or content`,
        },
      }
  }
}

function convertSearchResult({ title, source, content }: JsonObject, path: string): Converted {
  return below([title, source], path, convertWithin(content, `${path}.content`))
}

/** A content with what names it in front, which models read as text. */
function below(names: readonly unknown[], path: string, within: Converted): Converted {
  if ('fault' in within) return within
  const heading = names.filter((name) => isText(name) && name.length > 0).map(String)
  if (heading.length === 0) return within
  return { parts: [...wordsAt(path, heading.join('\n')).parts, ...within.parts] }
}

/** The text and images in a block. Other content is left out. */
function convertWithin(content: unknown, path: string): Converted {
  const parts: PlacedParts[number][] = []
  for (const { block, path: place, fault } of blocksOf(content, path)) {
    if (fault !== undefined) return { fault }
    const converted = block.type === 'text' || block.type === 'image' ? convertBlock(block, place) : undefined
    if (converted === undefined) continue
    if ('fault' in converted) return converted
    parts.push(...converted.parts)
  }
  return { parts }
}

function missing(path: string): { readonly fault: Fault } {
  return { fault: { path, problem: 'is required' } }
}
