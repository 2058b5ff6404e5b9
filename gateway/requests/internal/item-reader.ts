import { itemsOf, type JsonObject } from '../../wire/json-fields.ts'
import { isText, joinTexts, type Text } from '../../wire/long-text.ts'
import type { DroppedField } from '../dropped-field.ts'
import type { AskedTool } from '../responses-asked.ts'
import type { AskedTools } from './asked-tools.ts'
import type { ChatConversation } from './chat-conversation.ts'
import type { Fault } from './field-checks.ts'
import { convertContent } from './response-content.ts'
import { isItemOfChat, kindOfItem } from './responses-checks.ts'
import { unknownInItem } from './unknown-fields.ts'

/** How clients of the AI SDK send whole items. */
export const storeSetting = 'AI SDK: set providerOptions.openai.store: false'

const searchTool: AskedTool = { kind: 'tool_search', name: 'tool_search' }

/** Reads checked items into a conversation. */
export class ItemReader {
  readonly #tools: AskedTools
  readonly #conversation: ChatConversation
  readonly #dropped: DroppedField[]
  /** Bytes that the conversation has beyond the items: names of functions in full, and what encloses an input. */
  addedBytes = 0

  constructor(tools: AskedTools, conversation: ChatConversation, dropped: DroppedField[]) {
    this.#tools = tools
    this.#conversation = conversation
    this.#dropped = dropped
  }

  /** The problem of an item that cannot be left out; `undefined`: it was read, or left out. */
  read(item: JsonObject, path: string): Fault | undefined {
    const kind = kindOfItem(item)
    if (isItemOfChat(kind)) for (const each of unknownInItem(kind, item, path)) this.#dropped.push(each)
    switch (kind) {
      case 'message':
        return this.#readMessage(item, path)
      case 'reasoning':
        return this.#readReasoning(item, path)
      case 'function_call':
        return this.#readCall({ ...namesOf(item), kind: 'function' }, item, item.arguments as Text, path)
      case 'custom_tool_call':
        return this.#readCall(
          { ...namesOf(item), kind: 'custom' },
          item,
          JSON.stringify({ input: item.input }),
          path,
        )
      case 'function_call_output':
      case 'custom_tool_call_output':
        return this.#readOutput(item, path)
      case 'tool_search_call':
        return isText(item.call_id)
          ? this.#readCall(searchTool, item, searchedWith(item), path)
          : this.#drop(kind, path)
      case 'tool_search_output':
        return isText(item.call_id) ? this.#readFoundTools(item, path) : undefined
      case 'additional_tools':
        return undefined // its tools are listed already
      case 'item_reference':
        return this.#readReference(item, path)
      case 'compaction_trigger':
        return {
          path,
          problem: 'is not supported for this model. Ask for a summary in a message',
          isNative: true,
        }
      default:
        return this.#drop(kind, path)
    }
  }

  #drop(kind: string, path: string): undefined {
    this.#dropped.push({ name: `input.${kind}`, path })
  }

  #readMessage({ role, content }: JsonObject, path: string): Fault | undefined {
    const converted = convertContent(content, `${path}.content`)
    if ('fault' in converted) return converted.fault
    this.#conversation.addMessage(String(role), converted.parts, path)
    return undefined
  }

  /** Its text where a client has it in full, else the summary of it. */
  #readReasoning({ summary, content, encrypted_content: encrypted }: JsonObject, path: string): undefined {
    const [texts, shown] = [content, summary].map(textsIn)
    const text = joinTexts((texts?.length ? texts : shown) ?? [])
    this.#conversation.addReasoning(text, isText(encrypted) ? encrypted : undefined, path)
  }

  #readCall(tool: AskedTool, { call_id: id }: JsonObject, written: Text, path: string): Fault | undefined {
    const name = this.#tools.sentName(tool)
    this.addedBytes += name.length + callBytes
    return this.#conversation.addCall(String(id), { name, arguments: written }, path)
  }

  #readOutput({ call_id: id, output }: JsonObject, path: string): Fault | undefined {
    const converted = convertContent(output, `${path}.output`)
    if ('fault' in converted) return converted.fault
    return this.#conversation.addOutput(String(id), converted.parts, path)
  }

  /** The model reads the names of the tools that were found; the tools themselves are in the list. */
  #readFoundTools({ call_id: id, tools }: JsonObject, path: string): Fault | undefined {
    const text = JSON.stringify({ tools: this.#tools.namesIn(itemsOf(tools)) })
    this.addedBytes += text.length
    return this.#conversation.addOutput(String(id), [{ type: 'text', text }], path)
  }

  /** Clients refer to reasoning that they believe to be stored: models do without it, but not without text. */
  #readReference({ id }: JsonObject, path: string): Fault | undefined {
    if (String(id).startsWith('rs_')) return this.#drop('item_reference', path)
    return {
      path,
      problem: `refers to an item that is not stored. Send the whole item (${storeSetting})`,
    }
  }
}

/** Of what encloses the input of a call. */
const callBytes = 16

function namesOf({ name, namespace }: JsonObject): { readonly name: string; readonly namespace?: string } {
  return { name: String(name), ...(isText(namespace) ? { namespace: String(namespace) } : {}) }
}

function searchedWith({ arguments: given }: JsonObject): Text {
  return isText(given) ? given : JSON.stringify(given ?? {})
}

function textsIn(parts: unknown): readonly Text[] {
  return itemsOf(parts).flatMap((part) => {
    const { text } = part as JsonObject
    return isText(text) ? text : []
  })
}
