import { fieldsOf, itemsOf, type JsonObject } from '../../../../wire/json-fields.ts'
import { isText } from '../../../../wire/long-text.ts'
import { type Part, writeTexts, writeUserParts } from './content-parts.ts'
import { type OpenCalls, signatureIn, takeResult, writeCalls, writeResults } from './function-calls.ts'
import { reject, type Writing } from './writing.ts'

export type Conversation = {
  readonly systemInstruction?: JsonObject
  readonly contents: readonly JsonObject[]
}

/** `results`: a user's content that has results of calls, and nothing else. */
type Turn = { readonly kind: 'user' | 'model' | 'results'; readonly parts: Part[] }

type Reading = { readonly writing: Writing; readonly turns: Turn[]; open: OpenCalls | undefined }

/**
 * In place of a signature that a history has lost, documented for calls of another model
 * (https://ai.google.dev/gemini-api/docs/thought-signatures, read 2026-11-20).
 */
const lostSignature = 'skip_thought_signature_validator'

/**
 * The conversation: leading system messages as instruction, those in its middle as a user's. Each content has all that came
 * from one side until the other side's turn. Each message is a step.
 */
export function* writeConversation(
  messages: unknown,
  { signsCalls }: { readonly signsCalls: boolean },
  writing: Writing,
): Generator<undefined, Conversation> {
  const list = itemsOf(messages).map((message) => fieldsOf(message) ?? {})
  const firstOther = list.findIndex((message) => !isSystem(message))
  const leadingCount = firstOther === -1 ? list.length : firstOther
  const system = list
    .slice(0, leadingCount)
    .flatMap((message, at) => writeTexts(message.content, `messages[${at}].content`, writing))
  const reading: Reading = { writing, turns: [], open: undefined }
  for (const [at, message] of list.entries()) {
    if (at >= leadingCount) yield* addMessage(reading, message, `messages[${at}]`)
    yield
  }
  const isOpenEnd = reading.open?.calls.every(({ result }) => result === undefined) === true
  if (!isOpenEnd) closeCalls(reading)
  return inOrder(system, reading, signsCalls)
}

function isSystem({ role }: JsonObject): boolean {
  return role === 'system' || role === 'developer'
}

/** Gemini requires a content, and a user's before the first call: the instruction takes that place where there is none. */
function inOrder(system: readonly Part[], { turns, writing }: Reading, signsCalls: boolean): Conversation {
  const [first] = turns
  const needsUser = first === undefined || (first.kind === 'model' && first.parts.some(isCall))
  if (needsUser && system.length === 0)
    reject(writing, 'messages', 'must have a user message with content before the first tool call')
  if (needsUser) return { contents: contentsOf([{ kind: 'user', parts: [...system] }, ...turns], signsCalls) }
  const contents = contentsOf(turns, signsCalls)
  return system.length === 0 ? { contents } : { systemInstruction: { parts: system }, contents }
}

function* addMessage(reading: Reading, message: JsonObject, param: string): Generator<undefined, void> {
  const { writing } = reading
  const { role, content } = message
  if (role === 'tool') {
    yield* takeResult(reading.open, message, param, writing)
    return
  }
  closeCalls(reading)
  if (role === 'user') add(reading, 'user', writeUserParts(content, `${param}.content`, writing))
  else if (isSystem(message)) add(reading, 'user', writeTexts(content, `${param}.content`, writing))
  else if (role === 'assistant') yield* addAnswer(reading, message, param)
  else reject(writing, `${param}.role`, 'must not be "function" for this model: use tool_calls and "tool"')
}

function* addAnswer(reading: Reading, message: JsonObject, param: string): Generator<undefined, void> {
  const { writing } = reading
  const { content, refusal, tool_calls, function_call } = message
  if (function_call !== undefined)
    reject(writing, `${param}.function_call`, 'is not supported by this model: use tool_calls')
  const said = writeTexts(content, `${param}.content`, writing)
  const texts = said.length === 0 && isText(refusal) ? writeTexts(refusal, param, writing) : said
  const signature = signatureIn(message)
  const { parts, open } = yield* writeCalls(tool_calls, `${param}.tool_calls`, writing)
  add(reading, 'model', [...signed(texts, signature), ...parts])
  if (parts.length > 0) reading.open = open
}

/** The signature of a message is that of its last text, which may have been empty. */
function signed(texts: readonly Part[], signature: JsonObject): readonly Part[] {
  if (signature.thoughtSignature === undefined) return texts
  return [...texts.slice(0, -1), { text: '', ...texts.at(-1), ...signature }]
}

/** Parts are never joined: a signature counts for the very part that it came with. */
function add({ turns }: Reading, kind: Turn['kind'], parts: readonly Part[]): void {
  if (parts.length === 0) return
  const last = turns.at(-1)
  if (last?.kind === kind) last.parts.push(...parts)
  else turns.push({ kind, parts: [...parts] })
}

function closeCalls(reading: Reading): void {
  if (reading.open !== undefined) add(reading, 'results', writeResults(reading.open, reading.writing))
  reading.open = undefined
}

function contentsOf(turns: readonly Turn[], signsCalls: boolean): readonly JsonObject[] {
  const prompt = turns.findLastIndex(({ kind }) => kind === 'user')
  return turns.map(({ kind, parts }, at) => ({
    role: kind === 'model' ? 'model' : 'user',
    parts: signsCalls && at > prompt ? withSignedCall(parts) : parts,
  }))
}

/** Each step since the user's last prompt needs a signature at the first of its calls. */
function withSignedCall(parts: readonly Part[]): readonly Part[] {
  const first = parts.findIndex(isCall)
  return parts.map((part, at) => (at === first ? { thoughtSignature: lostSignature, ...part } : part))
}

function isCall({ functionCall }: Part): boolean {
  return functionCall !== undefined
}
