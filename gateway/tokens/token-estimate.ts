import { fieldsOf, itemsOf, type JsonObject } from '../wire/json-fields.ts'
import { jsonPieces } from '../wire/json-writer.ts'
import { isText, type Text } from '../wire/long-text.ts'

/**
 * Characters per token, measured: letters and spaces 4, Cyrillic 3, digits and signs 2.5,
 * Chinese, Japanese and Korean 1.3, anything else 1. Kept as whole parts of a token, so that sums are exact.
 */
const partsPerToken = 780
const letterParts = partsPerToken / 4
const cyrillicParts = partsPerToken / 3
const digitParts = partsPerToken / 2.5
const cjkParts = partsPerToken / 1.3
const otherParts = partsPerToken

const tokensPerMessage = 4
const tokensPerRequest = 3
/** Characters of JSON schema per token, where they are ASCII. */
const schemaCharactersPerToken = 3.5
/** Tokens of an image whose size is unknown, and of one asked for in low detail. */
const imageTokens = 1100
const lowDetailImageTokens = 85
/** Tokens of a sound or a file: their bytes say nothing, so they count as one image. */
const mediaTokens = imageTokens
/**
 * Base64 characters of delivered sound per token: OpenAI has 20 tokens a second, and streams nothing but 24,000 samples
 * a second of two bytes. Compressed formats, in non-streaming responses, count less.
 */
const soundCharactersPerToken = 3200

/** Longer texts, in UTF-16 units, are sampled at head, middle and tail. */
const sampledAbove = 1024 * 1024
const sampleLength = 64 * 1024

/** A prompt taken apart: its texts, and what has tokens without being text of it (messages, tools, media). */
export type Prompt = {
  readonly texts: readonly string[]
  readonly otherTokens: number
}

/** The expected prompt tokens of a chat request. One pass over its characters, no tokenizer; never negative. */
export function estimatePrompt(request: JsonObject): number {
  const { texts, otherTokens } = readPrompt(request)
  const parts = texts.reduce((sum, text) => sum + partsOfText(text), 0)
  return Math.ceil(parts / partsPerToken + otherTokens)
}

/** The same of a large request, and its prompt taken apart; no step takes longer than a millisecond. */
export function* estimateInSteps(
  request: JsonObject,
): Generator<undefined, { readonly tokens: number; readonly prompt: Prompt }> {
  const { texts, otherTokens } = readMessages(request)
  let parts = 0
  for (const text of texts) {
    parts += partsOfText(text)
    yield
  }
  let schemaTokens = 0
  for (const schema of schemasOf(request))
    if (isSchema(schema)) schemaTokens += yield* tokensOfSchemaInSteps(schema)
  const prompt = { texts, otherTokens: otherTokens + schemaTokens }
  return { tokens: Math.ceil(parts / partsPerToken + prompt.otherTokens), prompt }
}

/** Takes a chat request's prompt apart; anything at all can be. */
export function readPrompt(request: JsonObject): Prompt {
  const { texts, otherTokens } = readMessages(request)
  let schemaTokens = 0
  for (const schema of schemasOf(request))
    if (isSchema(schema)) schemaTokens += tokensOfSchema(JSON.stringify(schema))
  return { texts, otherTokens: otherTokens + schemaTokens }
}

/** A prompt without the JSON schemas of its tools and its answer. */
function readMessages(request: JsonObject): Prompt {
  const texts: string[] = []
  let otherTokens = tokensPerRequest
  for (const item of itemsOf(request.messages)) {
    const message = fieldsOf(item)
    if (message === undefined) continue
    otherTokens += tokensPerMessage
    addHistory(message, texts)
    otherTokens += countMedia(message) * mediaTokens
    if (isText(message.content)) {
      addText(message.content, texts)
      continue
    }
    for (const part of itemsOf(message.content)) {
      const fields = fieldsOf(part) ?? {}
      const text = fields.text ?? fields.refusal
      if (isText(text)) {
        addText(text, texts)
        continue
      }
      otherTokens += tokensOfMedia(fields)
    }
  }
  return { texts, otherTokens }
}

/** The expected tokens of delivered images, each as in a prompt, and of sound by the length of its base64. */
export function estimateMedia(images: number, soundLength: number): number {
  return images * imageTokens + Math.ceil(soundLength / soundCharactersPerToken)
}

/** The expected tokens of a text. */
export function estimateText(text: string): number {
  return tokensOfParts(partsOfText(text))
}

/** A text in whole parts of a token; below the length from which texts are sampled, those of its pieces add up to its own. */
export function partsOfText(text: string): number {
  return text.length <= sampledAbove ? partsOf(text, 0, text.length) : sampledParts(text)
}

/** Tokens, rounded up. */
export function tokensOfParts(parts: number): number {
  return Math.ceil(parts / partsPerToken)
}

function sampledParts(text: string): number {
  const last = text.length - sampleLength
  const parts = [0, last >> 1, last].reduce(
    (sum, start) => sum + partsOf(text, start, start + sampleLength),
    0,
  )
  return (parts * text.length) / (3 * sampleLength)
}

function partsOf(text: string, start: number, end: number): number {
  let parts = 0
  if (end - start < blockedFrom) {
    for (let at = start; at < end; at += 1) parts += partsOfUnit[text.charCodeAt(at)] ?? otherParts
    return parts
  }
  for (let at = start; at < end; at += blockLength) {
    const length = block.write(text.slice(at, Math.min(at + blockLength, end)), 'utf16le') / 2
    for (let i = 0; i < length; i += 1) parts += partsOfUnit[units[i] ?? 0] ?? otherParts
  }
  return parts
}

/** Where a long text's units are read, at a third of the time that asking the string for each one takes. */
const blockLength = 4096
const units = new Uint16Array(blockLength)
const block = Buffer.from(units.buffer)
/** Length of a text from which on that pays; a stream's chunks are shorter. */
const blockedFrom = 100

/** Parts of a token that each UTF-16 unit is: 128 KiB, filled once. */
const partsOfUnit = new Uint16Array(65_536).fill(otherParts)
partsOfUnit.fill(digitParts, 33, 127)
partsOfUnit.fill(letterParts, 65, 91)
partsOfUnit.fill(letterParts, 97, 123)
for (const whitespace of [9, 10, 13, 32]) partsOfUnit[whitespace] = letterParts
partsOfUnit.fill(cyrillicParts, 0x400, 0x530)
partsOfUnit.fill(cjkParts, 0x3000, 0xa000)
partsOfUnit.fill(cjkParts, 0xac00, 0xd7b0)
partsOfUnit.fill(cjkParts, 0xf900, 0xfb00)
partsOfUnit.fill(cjkParts, 0xff00, 0xfff0)

/** Parts of earlier turns in addition to their content: reasoning, and the calls of tools. */
function addHistory(message: JsonObject, texts: string[]): void {
  for (const text of [message.name, message.refusal, message.reasoning_content])
    if (isText(text)) addText(text, texts)
  for (const call of itemsOf(message.tool_calls)) {
    const fields = fieldsOf(call)
    addCall(fieldsOf(fields?.function ?? fields?.custom), texts)
  }
  addCall(fieldsOf(message.function_call), texts)
}

function addText(text: Text, texts: string[]): void {
  if (typeof text === 'string') texts.push(text)
  else texts.push(...text.pieces)
}

/** Images and sound that an assistant answered with. */
function countMedia({ images, audio }: JsonObject): number {
  return itemsOf(images).length + (fieldsOf(audio) === undefined ? 0 : 1)
}

function addCall(call: JsonObject | undefined, texts: string[]): void {
  if (isText(call?.name)) addText(call.name, texts)
  const said = call?.arguments ?? call?.input
  if (isText(said)) addText(said, texts)
}

function tokensOfMedia(part: JsonObject): number {
  if (part.type !== 'image_url') return mediaTokens
  return fieldsOf(part.image_url)?.detail === 'low' ? lowDetailImageTokens : imageTokens
}

/** The JSON that describes the tools and the format of the response to the model. */
function schemasOf({ tools, functions, response_format, prediction }: JsonObject): readonly unknown[] {
  return [tools, functions, response_format, prediction]
}

function isSchema(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

function tokensOfSchema(json: string): number {
  if (json.length === Buffer.byteLength(json)) return json.length / schemaCharactersPerToken
  const beyondAscii = textBeyondAscii(json)
  return tokensOfSchemaText(json.length - beyondAscii.length, partsOfText(beyondAscii))
}

function* tokensOfSchemaInSteps(schema: unknown): Generator<undefined, number> {
  let ascii = 0
  let parts = 0
  for (const json of jsonPieces(schema)) {
    const beyondAscii = json.length === Buffer.byteLength(json) ? '' : textBeyondAscii(json)
    ascii += json.length - beyondAscii.length
    parts += partsOfText(beyondAscii)
    yield
  }
  return tokensOfSchemaText(ascii, parts)
}

function tokensOfSchemaText(asciiLength: number, parts: number): number {
  return asciiLength / schemaCharactersPerToken + parts / partsPerToken
}

function textBeyondAscii(json: string): string {
  return json.replace(/\p{ASCII}+/gu, '')
}
