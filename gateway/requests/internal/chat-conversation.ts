import type { JsonObject } from '../../wire/json-fields.ts'
import { joinTexts, type Text } from '../../wire/long-text.ts'
import type { ChatMessage } from '../chat-request.ts'
import { encryptedDetail } from '../encrypted-detail.ts'
import type { Fault } from './field-checks.ts'
import { isWords } from './response-content.ts'

/** A message of a chat, and the place in the client's request that it was made of. */
export type Placed = {
  readonly message: ChatMessage
  readonly path: string
  readonly callPaths: readonly string[]
}

type Result = {
  readonly callId: string
  readonly path: string
  readonly parts: JsonObject[]
  /** Further fields of its message. */
  readonly extras: JsonObject
}

/** The items of one answer of the model, and the results of its calls. */
type AssistantTurn = {
  readonly path: string
  readonly parts: JsonObject[]
  readonly reasoning: Text[]
  readonly encrypted: Text[]
  readonly calls: JsonObject[]
  readonly callPaths: string[]
  readonly results: Result[]
}

type Turn = Placed | AssistantTurn

/** How a client's API names the parts of a conversation. */
export type ConversationNames = {
  /** The fields with the id of a call, where it is made and where it is answered. */
  readonly callId: string
  readonly answeredId: string
  /** What a call leads to. */
  readonly output: string
  /** What to do about a call without. */
  readonly remedy: string
}

const responsesNames: ConversationNames = {
  callId: 'call_id',
  answeredId: 'call_id',
  output: 'output',
  remedy: 'add an item with its output and the same call_id',
}

/**
 * Puts items together to the messages of a chat: the words, thoughts and calls of one turn are one message. The results of
 * its calls follow it, wherever they come.
 */
export class ChatConversation {
  readonly #turns: Turn[] = []
  readonly #openCalls = new Map<string, { readonly turn: AssistantTurn; readonly path: string }>()
  /** Of each call's id the last result. */
  readonly #results = new Map<string, Result>()
  readonly #names: ConversationNames

  constructor(names: ConversationNames = responsesNames) {
    this.#names = names
  }

  addMessage(role: string, parts: readonly JsonObject[], path: string): void {
    if (role === 'assistant') this.#assistant(path).parts.push(...parts)
    else this.#turns.push({ message: { role, content: contentOf(parts) }, path, callPaths: [] })
  }

  /** @param encrypted what the gateway encrypted of it. */
  addReasoning(text: Text, encrypted: Text | undefined, path: string): void {
    const turn = this.#assistant(path)
    if (text.length > 0) turn.reasoning.push(text)
    if (encrypted !== undefined) turn.encrypted.push(encrypted)
  }

  /** @param extras further fields of the call in the chat. */
  addCall(
    id: string,
    called: { readonly name: string; readonly arguments: Text },
    path: string,
    extras: JsonObject = {},
  ): Fault | undefined {
    const { callId, output } = this.#names
    if (this.#openCalls.has(id))
      return {
        path: `${path}.${callId}`,
        problem: `is that of an earlier call that has no ${output} yet: each call needs its own`,
      }
    const turn = this.#assistant(path)
    turn.calls.push({ id, type: 'function', function: called, ...extras })
    turn.callPaths.push(path)
    this.#openCalls.set(id, { turn, path })
    return undefined
  }

  /**
   * A call may have several outputs, which are one result: scripts in Codex send some while they run.
   *
   * @param extras further fields of the result in the chat.
   */
  addOutput(
    id: string,
    parts: readonly JsonObject[],
    path: string,
    extras: JsonObject = {},
  ): Fault | undefined {
    const call = this.#openCalls.get(id)
    if (call === undefined) {
      const earlier = this.#results.get(id)
      if (earlier === undefined)
        return { path: `${path}.${this.#names.answeredId}`, problem: 'must be that of an earlier call' }
      earlier.parts.push(...parts)
      return undefined
    }
    this.#openCalls.delete(id)
    const result = { callId: id, path, parts: [...parts], extras }
    this.#results.set(id, result)
    call.turn.results.push(result)
    return undefined
  }

  /** The messages in order, or the first call that has no output. */
  finish(): { readonly placed: readonly Placed[] } | { readonly fault: Fault } {
    const [unanswered] = this.#openCalls.values()
    const { output, remedy } = this.#names
    if (unanswered !== undefined)
      return { fault: { path: unanswered.path, problem: `has no ${output}: ${remedy}` } }
    return { placed: this.#turns.flatMap((turn) => ('message' in turn ? turn : placedOf(turn))) }
  }

  #assistant(path: string): AssistantTurn {
    const last = this.#turns.at(-1)
    if (last !== undefined && 'results' in last && last.results.length === 0) return last
    const turn = { path, parts: [], reasoning: [], encrypted: [], calls: [], callPaths: [], results: [] }
    this.#turns.push(turn)
    return turn
  }
}

const attached: readonly JsonObject[] = [{ type: 'text', text: 'The output is attached.' }]

/** A single text without further fields is a string, which every provider takes. */
function contentOf(parts: readonly JsonObject[]): unknown {
  const [first, ...others] = parts
  if (first === undefined) return ''
  const isText = first.type === 'text' && Object.keys(first).length === 2
  return others.length === 0 && isText ? first.text : parts
}

function placedOf(turn: AssistantTurn): readonly Placed[] {
  const { parts, reasoning, encrypted, calls, callPaths, path, results } = turn
  if (parts.length === 0 && calls.length === 0) return [] // reasoning that led to nothing
  const message = {
    role: 'assistant',
    content: parts.length === 0 ? null : contentOf(parts),
    ...(reasoning.length === 0 ? {} : { reasoning_content: joinTexts(reasoning) }),
    ...(encrypted.length === 0
      ? {}
      : { reasoning_details: encrypted.map((data) => ({ type: encryptedDetail, data })) }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
  return [{ message, path, callPaths }, ...results.map(toolMessageOf), ...results.flatMap(mediaMessageOf)]
}

function toolMessageOf({ callId, parts, path, extras }: Result): Placed {
  const words = parts.filter(isWords)
  const content = contentOf(words.length === 0 && parts.length > 0 ? attached : words)
  return { message: { role: 'tool', tool_call_id: callId, content, ...extras }, path, callPaths: [] }
}

/** Pictures and files are in a message after all results: few providers take them in a result. */
function mediaMessageOf({ parts, path }: Result): readonly Placed[] {
  const media = parts.filter((part) => !isWords(part))
  return media.length === 0 ? [] : [{ message: { role: 'user', content: media }, path, callPaths: [] }]
}
