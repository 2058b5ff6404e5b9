import type { JsonObject } from '../../../../wire/json-fields.ts'
import { whenDone, workThrough } from '../../../../wire/turns.ts'
import type { Failure } from '../../../failure.ts'
import { type AdaptedChat, type ChatCall, isFailure } from '../../../provider-adapter.ts'
import type { GeminiModel } from '../../quirks.ts'
import { readAnswer } from './answer.ts'
import { checkImageType } from './content-parts.ts'
import { writeConversation } from './contents.ts'
import { nativeFieldsOf } from './native-fields.ts'
import { writeSettings } from './settings.ts'
import { createEventReader } from './stream.ts'
import { functionNamesOf, writeCalling, writeDeclarations } from './tools.ts'
import { createWriting, type Writing } from './writing.ts'

/** For a provider whose row has no models of Gemini. */
const anyModel: GeminiModel = {
  thinking: { kind: 'none' },
  signsCalls: false,
  jsonWithTools: false,
  candidatesMax: 1,
}

/**
 * A chat as `GenerateContentRequest`, and how its response is read. Images by URL are fetched: the API would take some
 * addresses itself, but of no provider of images can the gateway know that they are let in.
 */
export function writeChat(request: AdaptedChat): ChatCall | Failure | Promise<ChatCall | Failure> {
  const functions = functionNamesOf(request.fields.get('tools'))
  const writing = createWriting(functions)
  const writtenJson = workThrough(writeRequest(request, functions, writing), request.bodyBytes)
  return whenDone(writtenJson, (json) => callOf(json, writing, request))
}

function callOf(
  json: JsonObject,
  writing: Writing,
  { dialect, fetchImage }: AdaptedChat,
): ChatCall | Failure | Promise<ChatCall | Failure> {
  if (writing.failure !== undefined) return writing.failure
  const context = { names: writing.names, own: dialect.origin }
  const call: ChatCall = {
    json,
    createEventReader: () => createEventReader(context),
    readAnswer: (text) => readAnswer(text, context),
  }
  return writing.missingImages.length === 0 ? call : withImages(call, writing, fetchImage)
}

function* writeRequest(
  { fields, dialect }: AdaptedChat,
  functions: readonly string[],
  writing: Writing,
): Generator<undefined, JsonObject> {
  const model = dialect.quirks.gemini ?? anyModel
  const native = nativeFieldsOf(fields)
  const conversation = yield* writeConversation(fields.get('messages'), model, writing)
  const functionDeclarations = writeDeclarations(fields.get('tools'), writing)
  const isCalling = functionDeclarations.length > 0
  // Without functions the API rejects rules for them.
  const functionCallingConfig = isCalling
    ? writeCalling(fields.get('tool_choice'), functions, writing)
    : undefined
  const tools = [...(isCalling ? [{ functionDeclarations }] : []), ...native.tools]
  const toolConfig = {
    ...native.toolConfig,
    ...(functionCallingConfig === undefined ? {} : { functionCallingConfig }),
  }
  const { thinkingConfig, ...settings } = writeSettings(fields, model, writing)
  const ownThinking = fields.has('reasoning_effort') ? undefined : native.generationConfig.thinkingConfig
  const thinking = ownThinking ?? thinkingConfig
  const generationConfig = {
    ...native.generationConfig,
    ...settings,
    ...(thinking === undefined ? {} : { thinkingConfig: thinking }),
  }
  return {
    ...native.request,
    ...conversation,
    ...(tools.length === 0 ? {} : { tools }),
    ...unlessEmpty({ toolConfig, generationConfig }),
  }
}

function unlessEmpty(objects: Readonly<Record<string, JsonObject>>): JsonObject {
  return Object.fromEntries(Object.entries(objects).filter(([, fields]) => Object.keys(fields).length > 0))
}

/** The same call with the data of its images, all fetched at once; or the first failure, in their order. */
async function withImages(
  call: ChatCall,
  writing: Writing,
  fetchImage: AdaptedChat['fetchImage'],
): Promise<ChatCall | Failure> {
  const images = await Promise.all(writing.missingImages.map(({ url, param }) => fetchImage(url, param)))
  let addedBytes = 0
  for (const [at, image] of images.entries()) {
    const missing = writing.missingImages[at]
    if (isFailure(image)) return image
    if (missing === undefined) continue
    checkImageType(image.mediaType, missing.param, writing)
    missing.blob.mimeType = image.mediaType
    missing.blob.data = image.base64
    addedBytes += image.base64.length
  }
  return writing.failure ?? { ...call, addedBytes }
}
