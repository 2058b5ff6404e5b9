import { isDigit } from '../../wire/json-text.ts'

/**
 * The text that a provider wrote around the content of a chunk that had only content.
 *
 * A later chunk with the same surroundings has the same meaning except for the content. It need not be
 * parsed, and its content need not be read. Together with one write for each turn (`client-stream.ts`): CPU
 * per chunk × 0.39.
 */
export type ContentTemplate = { readonly before: string; readonly after: string }

/** Strings that JSON writes unchanged: no quote, no backslash, no control character. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
const asItIs = /^[^"\\\u0000-\u001f]+$/
const colonAndQuote = /\s*:\s*"/y

/**
 * The text around `content`, which is named `key` in `data`, a JSON text; `undefined` if it is ambiguous which text is
 * meant.
 */
export function findTemplate(data: string, content: string, key = 'content'): ContentTemplate | undefined {
  const quoted = `"${key}"`
  const keyAt = data.indexOf(quoted)
  if (keyAt === -1 || keyAt !== data.lastIndexOf(quoted)) return undefined
  colonAndQuote.lastIndex = keyAt + quoted.length
  if (!colonAndQuote.test(data)) return undefined
  const start = colonAndQuote.lastIndex
  const end = start + content.length
  if (!asItIs.test(content) || !data.startsWith(content, start) || data[end] !== '"') return undefined
  const template = { before: data.slice(0, start), after: data.slice(end) }
  return template.before.includes('\\') || template.after.includes('\\') ? undefined : template
}

/** The text of a chunk that matches the template, or `undefined` if it does not. */
export function textIn(data: string, { before, after }: ContentTemplate): string | undefined {
  const end = data.length - after.length
  if (!hasAt(data, before, 0) || end < before.length || !hasAt(data, after, end)) return undefined
  const text = data.slice(before.length, end)
  return asItIs.test(text) ? text : undefined
}

/** The same of a provider that counts the tokens so far in each chunk: the texts between those numbers, which change. */
export type CountedTemplate = { readonly before: string; readonly between: readonly string[] }

/** The template of a chunk whose numbers in the object `countsKey`, behind the content, may change. */
export function findCountedTemplate(
  data: string,
  content: string,
  key: string,
  countsKey: string,
): CountedTemplate | undefined {
  const { before, after } = findTemplate(data, content, key) ?? { before: '', after: '' }
  const quoted = `"${countsKey}"`
  const keyAt = after.indexOf(quoted)
  if (keyAt === -1 || keyAt !== after.lastIndexOf(quoted)) return undefined
  const start = keyAt + quoted.length
  const end = endOfObject(after, start)
  const between = after.slice(start, end).split(/\d+/)
  return {
    before,
    between: [
      `${after.slice(0, start)}${between[0] ?? ''}`,
      ...between.slice(1, -1),
      `${between.length > 1 ? between.at(-1) : ''}${after.slice(end)}`,
    ],
  }
}

function endOfObject(text: string, from: number): number {
  let depth = 0
  for (let at = text.indexOf('{', from); at !== -1 && at < text.length; at += 1) {
    if (text[at] === '{') depth += 1
    else if (text[at] === '}') depth -= 1
    if (depth === 0) return at + 1
  }
  return from
}

/** The text of a chunk that matches such a template. */
export function textInCounted(data: string, { before, between }: CountedTemplate): string | undefined {
  const end = data.indexOf('"', before.length)
  if (end === -1 || !hasAt(data, before, 0)) return undefined
  let at = end
  for (let position = 0; position < between.length; position += 1) {
    const text = between[position] ?? ''
    if (position > 0) at = endOfDigits(data, at)
    if (!hasAt(data, text, at)) return undefined
    at += text.length
  }
  const text = data.slice(before.length, end)
  return at === data.length && asItIs.test(text) ? text : undefined
}

function endOfDigits(text: string, start: number): number {
  let end = start
  while (end < text.length && isDigit(text.charCodeAt(end))) end += 1
  return end
}

/** `startsWith`, in a quarter of its time. */
function hasAt(text: string, part: string, at: number): boolean {
  return text.slice(at, at + part.length) === part
}

/** A template with the frame of an event around it, as bytes: those before the text, then those after it. */
export type EventTemplate = { readonly bytes: Buffer; readonly beforeLength: number }

/** How a whole event would come in which the template is around another text: framed as most providers frame it. */
export function eventTemplateOf({ before, after }: ContentTemplate, eventHead = 'data: '): EventTemplate {
  const head = Buffer.from(`${eventHead}${before}`)
  return { bytes: Buffer.concat([head, Buffer.from(`${after}\n\n`)]), beforeLength: head.length }
}

/**
 * The text of bytes that are such an event, or `undefined` if they are not.
 *
 * Only the text is decoded to characters. Of a slow stream's chunk, in 200 bytes of which six are new,
 * decoding is most of the cost of reading it.
 */
export function textInEvent(event: Buffer, { bytes, beforeLength }: EventTemplate): string | undefined {
  const textLength = event.length - bytes.length
  if (textLength <= 0) return undefined
  for (let at = 0; at < beforeLength; at += 1) if (event[at] !== bytes[at]) return undefined
  for (let at = beforeLength; at < bytes.length; at += 1)
    if (event[at + textLength] !== bytes[at]) return undefined
  const text = event.toString('utf8', beforeLength, beforeLength + textLength)
  return asItIs.test(text) ? text : undefined
}
