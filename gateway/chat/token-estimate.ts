import { fieldsOf, itemsOf, type JsonObject } from './json-fields.ts'

/** Characters per token by class of character; measured, `reference/wire.md` §3. */
const charactersPerToken = { letter: 4, digit: 2.5, cyrillic: 3, cjk: 1.3, other: 1 }
const letter = 0
const digit = 1
const cyrillic = 2
const cjk = 3
const other = 4

const tokensPerMessage = 4
const tokensPerRequest = 3
/** Characters of JSON schema per token. */
const schemaCharactersPerToken = 3.5
/** Tokens of an image whose size is unknown, and of one asked for in low detail. */
const imageTokens = 1100
const lowDetailImageTokens = 85
/** Tokens of a sound or a file: their bytes say nothing, so they count as one image. */
const mediaTokens = imageTokens

/** Longer texts, in UTF-16 units, are sampled at head, middle and tail. */
const sampledAbove = 1024 * 1024
const sampleLength = 64 * 1024

/** How many characters of each class a text has; grows as text is added. */
export type TextMeasure = { readonly add: (text: string) => void; readonly tokens: () => number }

/** What the request's prompt is expected to be, and whether a byte count can bound it. */
export type PromptEstimate = {
  readonly tokens: number
  /** Every content part is text: no image, sound or file. */
  readonly allText: boolean
}

/** The expected prompt tokens of a chat request. One pass over its characters, no tokenizer; never negative. */
export function estimatePrompt(request: JsonObject): PromptEstimate {
  const measure = createTextMeasure()
  let extra = tokensPerRequest
  let allText = true
  for (const item of itemsOf(request.messages)) {
    const message = fieldsOf(item)
    if (message === undefined) continue
    extra += tokensPerMessage
    addHistory(measure, message)
    if (typeof message.content === 'string') {
      measure.add(message.content)
      continue
    }
    for (const part of itemsOf(message.content)) {
      const fields = fieldsOf(part) ?? {}
      const text = fields.text ?? fields.refusal
      if (typeof text === 'string') {
        measure.add(text)
        continue
      }
      allText = false
      extra += tokensOfMedia(fields)
    }
  }
  extra += schemaLength(request) / schemaCharactersPerToken
  return { tokens: Math.ceil(measure.tokens() + extra), allText }
}

/** The expected tokens of a text. */
export function estimateText(text: string): number {
  const measure = createTextMeasure()
  measure.add(text)
  return Math.ceil(measure.tokens())
}

/** Counts characters by class, so that an answer can be measured while it is delivered. `tokens()` is not rounded. */
export function createTextMeasure(): TextMeasure {
  const counts = new Float64Array(5)
  return {
    add(text) {
      if (text.length <= sampledAbove) return scan(text, 0, text.length, counts)
      const sample = new Float64Array(5)
      const middle = (text.length - sampleLength) >> 1
      for (const start of [0, middle, text.length - sampleLength])
        scan(text, start, start + sampleLength, sample)
      const scale = text.length / (3 * sampleLength)
      for (let n = 0; n < 5; n += 1) counts[n] = (counts[n] ?? 0) + (sample[n] ?? 0) * scale
    },
    tokens: () =>
      (counts[letter] ?? 0) / charactersPerToken.letter +
      (counts[digit] ?? 0) / charactersPerToken.digit +
      (counts[cyrillic] ?? 0) / charactersPerToken.cyrillic +
      (counts[cjk] ?? 0) / charactersPerToken.cjk +
      (counts[other] ?? 0) / charactersPerToken.other,
  }
}

function scan(text: string, start: number, end: number, counts: Float64Array): void {
  let letters = 0
  let digits = 0
  let cyrillics = 0
  let cjks = 0
  for (let i = start; i < end; i += 1) {
    const characterClass = classOf[text.charCodeAt(i)]
    if (characterClass === letter) letters += 1
    else if (characterClass === cyrillic) cyrillics += 1
    else if (characterClass === digit) digits += 1
    else if (characterClass === cjk) cjks += 1
  }
  counts[letter] = (counts[letter] ?? 0) + letters
  counts[digit] = (counts[digit] ?? 0) + digits
  counts[cyrillic] = (counts[cyrillic] ?? 0) + cyrillics
  counts[cjk] = (counts[cjk] ?? 0) + cjks
  counts[other] = (counts[other] ?? 0) + (end - start - letters - digits - cyrillics - cjks)
}

/** Class of each UTF-16 unit: 64 KiB, filled once. */
const classOf = new Uint8Array(65_536).fill(other)
const whitespace = [9, 10, 13, 32]
classOf.fill(digit, 33, 127)
classOf.fill(letter, 65, 91)
classOf.fill(letter, 97, 123)
for (const unit of whitespace) classOf[unit] = letter
classOf.fill(cyrillic, 0x400, 0x530)
classOf.fill(cjk, 0x3000, 0xa000)
classOf.fill(cjk, 0xac00, 0xd7b0)
classOf.fill(cjk, 0xf900, 0xfb00)
classOf.fill(cjk, 0xff00, 0xfff0)

/** What earlier turns carry beside their content: reasoning, and the calls of tools. */
function addHistory(measure: TextMeasure, message: JsonObject): void {
  for (const text of [message.name, message.refusal, message.reasoning_content])
    if (typeof text === 'string') measure.add(text)
  const calls = itemsOf(message.tool_calls).map((call) => fieldsOf(fieldsOf(call)?.function))
  for (const call of [...calls, fieldsOf(message.function_call)])
    for (const text of [call?.name, call?.arguments]) if (typeof text === 'string') measure.add(text)
}

function tokensOfMedia(part: JsonObject): number {
  if (part.type !== 'image_url') return mediaTokens
  return fieldsOf(part.image_url)?.detail === 'low' ? lowDetailImageTokens : imageTokens
}

/** Length of the JSON that tells the model of tools and of the shape of its answer. */
function schemaLength(request: JsonObject): number {
  let length = 0
  for (const schema of [request.tools, request.functions, request.response_format, request.prediction])
    if (typeof schema === 'object' && schema !== null) length += JSON.stringify(schema).length
  return length
}
