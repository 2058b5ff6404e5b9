import type { JsonObject } from '../../wire/json-fields.ts'
import { jsonPieces } from '../../wire/json-writer.ts'
import { isText, joinTexts, type Text } from '../../wire/long-text.ts'
import type { DroppedField } from '../dropped-field.ts'
import type { ChatConversation } from './chat-conversation.ts'
import type { Fault } from './field-checks.ts'
import { blocksOf, convertBlock, markOf } from './message-content.ts'
import type { MessageTools } from './message-tools.ts'
import { checkMessage } from './messages-checks.ts'
import { unknownInBlock } from './unknown-fields.ts'

/** Fields of a message; others are dropped. */
const known: ReadonlySet<string> = new Set(['role', 'content', 'output_config'])
/** Of what a block has in a chat beyond itself: names of fields, words in the place of a reference. */
const wrapperBytes = 64
/** The first words of a text that only Anthropic reads: it differs from request to request, so nothing after it could be cached. */
const billingNote = 'x-anthropic-billing-header:'

/** Reads messages into a conversation, and checks them. */
export class MessageReader {
  readonly #tools: MessageTools
  readonly #conversation: ChatConversation
  readonly #dropped: DroppedField[]
  #isMarked = false
  /** Where the parts of the chat's messages come from. */
  readonly partPaths = new Map<unknown, string>()
  /** Of the last message that sets one. */
  effort: unknown
  /** Bytes that the conversation has beyond the messages. */
  addedBytes = 0

  constructor(tools: MessageTools, conversation: ChatConversation, dropped: DroppedField[]) {
    this.#tools = tools
    this.#conversation = conversation
    this.#dropped = dropped
  }

  /** Instructions in front of all messages. */
  *readSystem(system: unknown): Generator<undefined, Fault | undefined> {
    const parts: JsonObject[] = []
    for (const { block, path, fault } of blocksOf(system, 'system')) {
      if (fault !== undefined) return fault
      this.#dropUnknown(block, 'system', path)
      const isNote = isText(block.text) && String(block.text).startsWith(billingNote)
      const problem = isNote
        ? this.#drop('system.billing_header', path)
        : this.#convert(block, path, 'system', parts)
      if (problem !== undefined) return problem
      yield
    }
    if (parts.length > 0) this.#conversation.addMessage('system', parts, 'system')
    return undefined
  }

  /** The problem of a message that cannot be left out. One block in each step. */
  *read(message: JsonObject, path: string): Generator<undefined, Fault | undefined> {
    const fault = checkMessage(message)
    if (fault !== undefined) return { path: `${path}${fault.path}`, problem: fault.problem }
    for (const name of Object.keys(message))
      if (!known.has(name)) this.#drop(`messages.${name}`, `${path}.${name}`)
    const { role, content, output_config } = message
    const { effort } = (output_config ?? {}) as JsonObject
    if (isText(effort)) this.effort = String(effort)
    const parts: JsonObject[] = []
    for (const { block, path: place, fault: wrong } of blocksOf(content, `${path}.content`)) {
      if (wrong === undefined) this.#dropUnknown(block, 'messages', place)
      const isCall = block.type === 'tool_use' && role === 'assistant' && wrong === undefined
      const problem = isCall
        ? yield* this.#readCall(block, place)
        : (wrong ?? this.#readBlock(block, place, String(role), parts))
      if (problem !== undefined) return problem
      yield
    }
    if (parts.length > 0) this.#conversation.addMessage(String(role), parts, path)
    return undefined
  }

  #readBlock(block: JsonObject, path: string, role: string, parts: JsonObject[]): Fault | undefined {
    switch (block.type) {
      case 'thinking':
      case 'redacted_thinking':
        return role === 'assistant' ? this.#readThinking(block, path) : misplaced(path, 'assistant')
      case 'tool_use':
        return misplaced(path, 'assistant')
      case 'tool_result':
        return role === 'user' ? this.#readResult(block, path) : misplaced(path, 'user')
      default:
        return this.#convert(block, path, 'messages', parts)
    }
  }

  #convert(
    block: JsonObject,
    path: string,
    place: 'messages' | 'system',
    parts: JsonObject[],
  ): Fault | undefined {
    const converted = convertBlock(block, path)
    if (converted === undefined) return this.#drop(`${place}.${block.type}`, path)
    if ('fault' in converted) return converted.fault
    if (block.type !== 'text') this.addedBytes += wrapperBytes
    this.#markOf(block, path)
    for (const [part, partPath] of converted.parts) {
      this.partPaths.set(part, partPath)
      parts.push(part)
    }
    return undefined
  }

  /** Reported once: clients mark many blocks. */
  #markOf(block: JsonObject, path: string): JsonObject {
    const mark = markOf(block)
    if (!this.#isMarked && mark.cache_control !== undefined) {
      this.#isMarked = true
      this.#dropped.push({ name: 'cache_control', path: `${path}.cache_control`, isExtra: true })
    }
    return mark
  }

  #dropUnknown(block: JsonObject, place: 'messages' | 'system', path: string): void {
    for (const each of unknownInBlock(block, place, path)) this.#dropped.push(each)
  }

  #drop(name: string, path: string): undefined {
    this.#dropped.push({ name, path })
  }

  /** Without a signature of the gateway's it is only text, which some providers want back. */
  #readThinking({ thinking, signature, data }: JsonObject, path: string): undefined {
    const encrypted = [signature, data].find((given) => isText(given) && given.length > 0)
    const text = isText(thinking) ? thinking : ''
    this.#conversation.addReasoning(text, encrypted as Text | undefined, path)
  }

  *#readCall(block: JsonObject, path: string): Generator<undefined, Fault | undefined> {
    const name = this.#tools.sentName(String(block.name))
    this.addedBytes += name.length + wrapperBytes
    const pieces: string[] = []
    for (const piece of jsonPieces(block.input)) {
      pieces.push(piece)
      yield
    }
    const called = { name, arguments: joinTexts(pieces) }
    return this.#conversation.addCall(String(block.id), called, path, this.#markOf(block, path))
  }

  #readResult(block: JsonObject, path: string): Fault | undefined {
    const parts: JsonObject[] = []
    for (const { block: part, path: place, fault } of blocksOf(block.content, `${path}.content`)) {
      if (part.type === 'tool_reference' && fault === undefined) this.#tools.refer(String(part.tool_name))
      const problem = fault ?? this.#convert(part, place, 'messages', parts)
      if (problem !== undefined) return problem
    }
    this.addedBytes += wrapperBytes
    const told = block.is_error === true ? failed(parts) : parts
    return this.#conversation.addOutput(String(block.tool_use_id), told, path, this.#markOf(block, path))
  }
}

function misplaced(path: string, role: 'user' | 'assistant'): Fault {
  return { path: `${path}.type`, problem: `must be in a message of the role ${role}` }
}

/** A chat has no field for a result that is an error. */
function failed(parts: readonly JsonObject[]): readonly JsonObject[] {
  const at = parts.findIndex((part) => part.type === 'text')
  const first = parts[at]
  if (first === undefined) return [{ type: 'text', text: 'Error' }, ...parts]
  return parts.with(at, { ...first, text: joinTexts(['Error: ', first.text as Text]) })
}
