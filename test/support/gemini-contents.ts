import {
  fieldsOf,
  firstFault,
  type GeminiFault,
  invalid,
  invalidArgument,
  invalidField,
  listOf,
} from './gemini-fault.ts'
import { oneofs } from './gemini-fields.ts'
import type { GeminiModel } from './gemini-models.ts'
import type { Fields } from './gemini-proto.ts'
import { isGeminiSignature } from './gemini-signature.ts'

/** `function` is a role of functionResponse in Google's former SDK (`@google/generative-ai`, `POSSIBLE_ROLES`). */
const roles = [undefined, '', 'user', 'model', 'function']

/** The first problem of the contents of a request; `path` is that of the message which has them. */
export function findContentsFault(
  contents: readonly Fields[],
  path: string,
  model: GeminiModel,
): GeminiFault | undefined {
  if (contents.length === 0) return invalidField(`${path}.contents`, 'contents is not specified')
  const places = contents.map((content, at) => ({ content, path: `${path}.contents[${at}]` }))
  return (
    places.map((place) => findContentFault(place.content, place.path, model)).find(Boolean) ??
    firstFault(
      () => findTurnFault(contents),
      () => (model.requiresSignatures ? findMissingSignature(contents) : undefined),
    )
  )
}

/** The first problem of one content: its role or its parts. */
export function findContentFault(content: Fields, path: string, model: GeminiModel): GeminiFault | undefined {
  const parts = partsOf(content)
  if (parts.length === 0) return invalidField(`${path}.parts`, 'contents.parts must not be empty.')
  // No role is a user's: only Vertex rejects that.
  if (!roles.includes(content.role as string | undefined))
    return invalid('Please use a valid role: user, model.')
  // Only a user's turn may have a result.
  if (content.role === 'model' && parts.some(hasResponse)) return invalidArgument
  return parts.map((part, at) => findPartFault(part, `${path}.parts[${at}]`, model)).find(Boolean)
}

function findPartFault(part: Fields, path: string, model: GeminiModel): GeminiFault | undefined {
  const { inlineData, fileData, functionCall, functionResponse, thoughtSignature } = part
  if (!oneofs.Part?.data?.some((member) => part[member] !== undefined))
    return invalidField(`${path}.data`, "required oneof field 'data' must have one initialized field")
  return firstFault(
    () => (functionCall !== undefined && !fieldsOf(functionCall).name ? invalidArgument : undefined),
    () =>
      functionResponse === undefined
        ? undefined
        : findNameFault(fieldsOf(functionResponse), `${path}.function_response`),
    () => (inlineData === undefined ? undefined : findMediaFault(fieldsOf(inlineData))),
    () => (fileData === undefined ? undefined : findFileFault(fieldsOf(fileData), model)),
    // Of any part, in any turn: https://github.com/google-gemini/gemini-cli/issues/13467.
    () =>
      thoughtSignature === undefined || isGeminiSignature(String(thoughtSignature))
        ? undefined
        : invalid('Corrupted thought signature.'),
  )
}

function findNameFault(named: Fields, path: string): GeminiFault | undefined {
  return named.name ? undefined : invalidField(`${path}.name`, 'Name cannot be empty.')
}

/** The first bytes of each image type: no GIF, as in https://ai.google.dev/gemini-api/docs/image-understanding. */
const images: Readonly<Record<string, RegExp>> = {
  'image/png': /^\x89PNG/,
  'image/jpeg': /^\xff\xd8\xff/,
  'image/webp': /^RIFF.{4}WEBP/s,
  'image/heic': /^.{4}ftyp/s,
  'image/heif': /^.{4}ftyp/s,
}
const otherMedia = /^(?:text\/[\w.+-]+|application\/(?:pdf|json)|audio\/[\w.+-]+|video\/[\w.+-]+)$/

function findMediaFault({ mimeType, data }: Fields): GeminiFault | undefined {
  const type = String(mimeType ?? '')
  const image = images[type]
  if (image === undefined)
    return otherMedia.test(type) ? undefined : invalid(`Unsupported MIME type: ${type}`)
  if (image.test(Buffer.from(String(data ?? ''), 'base64').toString('latin1'))) return undefined
  return invalid(
    'Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/troubleshooting',
  )
}

const ownFiles =
  /^https:\/\/(?:generativelanguage\.googleapis\.com\/v1beta\/files\/[\w-]+|(?:www\.)?youtube\.com\/watch\?v=[\w-]+|youtu\.be\/[\w-]+)$/
const publicUrl = /^https:\/\/(?!localhost|[\d.]+[:/]|\[)[^/]+\.[a-z]+\//i

/** https://ai.google.dev/gemini-api/docs/file-input-methods. The rejected words are of issues with 2.0 models. */
function findFileFault({ fileUri }: Fields, model: GeminiModel): GeminiFault | undefined {
  const uri = String(fileUri ?? '')
  if (ownFiles.test(uri)) return undefined
  if (!model.acceptsUrls || !uri.startsWith('https://'))
    return invalid(`Invalid or unsupported file uri: ${uri}`)
  return publicUrl.test(uri) ? undefined : invalid('Cannot fetch content from the provided URL.')
}

const hasCall = (part: Fields) => part.functionCall !== undefined
const hasResponse = (part: Fields) => part.functionResponse !== undefined

function partsOf(content: Fields | undefined): readonly Fields[] {
  return listOf(content?.parts)
}

/** https://github.com/google-gemini/gemini-cli/issues/11814, /3124 and /26956 have these words. */
function findTurnFault(contents: readonly Fields[]): GeminiFault | undefined {
  for (const [at, content] of contents.entries()) {
    const [before, after] = [contents[at - 1], contents[at + 1]]
    const calls = partsOf(content).filter(hasCall).length
    if (calls > 0 && (before === undefined || before.role === 'model'))
      return invalid(
        'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
      )
    if (partsOf(content).some(hasResponse) && !partsOf(before).some(hasCall))
      return invalid(
        'Please ensure that function response turn comes immediately after a function call turn.',
      )
    if (calls > 0 && after !== undefined && partsOf(after).filter(hasResponse).length !== calls)
      return invalid(
        'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
      )
  }
  return undefined
}

/**
 * Of each step of the current turn, the first call requires a signature: ai.google.dev/gemini-api/docs/thought-signatures.
 * A turn begins with the last content of a user that is more than results. The words, and that positions count from
 * one: https://github.com/nearai/ironclaw/issues/1510.
 */
function findMissingSignature(contents: readonly Fields[]): GeminiFault | undefined {
  const isPrompt = (content: Fields) =>
    content.role !== 'model' && partsOf(content).some((part) => !hasResponse(part))
  const start = contents.findLastIndex(isPrompt)
  for (const [at, content] of contents.entries()) {
    const call = partsOf(content).find(hasCall)
    if (at <= start || call === undefined || call.thoughtSignature !== undefined) continue
    const { name } = fieldsOf(call.functionCall)
    return invalid(
      `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${name}\` , position ${at + 1}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.`,
    )
  }
  return undefined
}
