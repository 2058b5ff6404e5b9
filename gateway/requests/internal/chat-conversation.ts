import type { JsonObject } from '../../wire/json-fields.ts'
import { joinTexts, type Text } from '../../wire/long-text.ts'
import type { ChatMessage } from '../chat-request.ts'
import { encryptedDetail } from '../encrypted-detail.ts'
import type { Fault } from './field-checks.ts'
import { isWords } from './response-content.ts'

/** A message of a chat, and the place in the client's request that it was made of. */
type Placed = { readonly message: ChatMessage; readonly path: string; readonly callPaths: readonly string[] }

type Result = { readonly message: ChatMessage; readonly path: string; readonly media: readonly JsonObject[] }

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

/**
 * Puts items together to the messages of a chat: the words, thoughts and calls of one turn are one message. The results of
 * its calls follow it, wherever they come.
 */
export class ChatConversation {
  readonly #turns: Turn[] = []
  readonly #openCalls = new Map<string, { readonly turn: AssistantTurn; readonly path: string }>()

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

  addCall(
    id: string,
    called: { readonly name: string; readonly arguments: Text },
    path: string,
  ): Fault | undefined {
    if (this.#openCalls.has(id))
      return {
        path: `${path}.call_id`,
        problem: 'is that of an earlier call that has no output yet: each call needs its own',
      }
    const turn = this.#assistant(path)
    turn.calls.push({ id, type: 'function', function: called })
    turn.callPaths.push(path)
    this.#openCalls.set(id, { turn, path })
    return undefined
  }

  /** Pictures and files are in a message after all results: few providers take them in a result. */
  addOutput(id: string, parts: readonly JsonObject[], path: string): Fault | undefined {
    const call = this.#openCalls.get(id)
    if (call === undefined)
      return { path: `${path}.call_id`, problem: 'must be that of an earlier call that has no output yet' }
    this.#openCalls.delete(id)
    const media = parts.filter((part) => !isWords(part))
    const words = parts.filter(isWords)
    const told = words.length === 0 && media.length > 0 ? attached : words
    call.turn.results.push({
      message: { role: 'tool', tool_call_id: id, content: contentOf(told) },
      path,
      media,
    })
    return undefined
  }

  /** The messages in order, or the first call that has no output. */
  finish(): { readonly placed: readonly Placed[] } | { readonly fault: Fault } {
    const [unanswered] = this.#openCalls.values()
    if (unanswered !== undefined)
      return {
        fault: {
          path: unanswered.path,
          problem: 'has no output: add an item with its output and the same call_id',
        },
      }
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

/** A single text is a string, which every provider takes. */
function contentOf(parts: readonly JsonObject[]): unknown {
  const [first, ...others] = parts
  if (first === undefined) return ''
  return others.length === 0 && first.type === 'text' ? first.text : parts
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
  const shown = results
    .filter(({ media }) => media.length > 0)
    .map((result) => ({ message: { role: 'user', content: result.media }, path: result.path, callPaths: [] }))
  return [
    { message, path, callPaths },
    ...results.map((result) => ({ message: result.message, path: result.path, callPaths: [] })),
    ...shown,
  ]
}
