import { fieldsOf, type JsonObject, objectsIn } from '../../../../wire/json-fields.ts'
import { detailOfEncrypted } from '../../../../wire/own-encrypted.ts'
import { failureOfBadAnswer, failureOfErrorBody } from '../../../failure.ts'
import type { ProviderEvent, RelayReader } from '../../../provider-adapter.ts'
import { finishOf } from './finish.ts'
import { forbiddenToolOf } from './server-tools.ts'
import { chatUsageOf } from './usage.ts'

const nothing: ProviderEvent = { kind: 'nothing' }
const ping: ProviderEvent = { kind: 'ping' }

/** Reads the events of one response. @param allowed tools that the provider may run. */
export function createRelayReader(allowed: ReadonlySet<string>): RelayReader {
  return new ResponseReader(allowed)
}

/** The field of a chat's delta for each text that grows. */
const growing: Readonly<Record<string, string>> = {
  'response.output_text.delta': 'content',
  'response.refusal.delta': 'refusal',
  'response.reasoning_summary_text.delta': 'reasoning_content',
  'response.reasoning_text.delta': 'reasoning_content',
}

class ResponseReader implements RelayReader {
  readonly #allowed: ReadonlySet<string>
  readonly #serverTools: string[] = []
  /** Calls of functions, by the index of their item. */
  readonly #calls = new Map<unknown, number>()
  /** Items of which a text came in pieces. */
  readonly #grown = new Set<unknown>()

  constructor(allowed: ReadonlySet<string>) {
    this.#allowed = allowed
  }

  serverTools(): readonly string[] {
    return this.#serverTools
  }

  read(event: JsonObject): ProviderEvent {
    const { type } = event
    if (typeof type !== 'string') return malformed
    if (typeof event.delta === 'string') return this.#grow(type, event, event.delta)
    switch (type) {
      case 'response.output_item.added':
        return this.#begin(event.output_index, fieldsOf(event.item) ?? {})
      case 'response.output_item.done':
        return this.#end(event.output_index, fieldsOf(event.item) ?? {})
      case 'response.completed':
      case 'response.incomplete':
        return this.#finish(fieldsOf(event.response) ?? {})
      case 'response.failed':
      case 'response.cancelled':
        return failed({ error: fieldsOf(event.response)?.error ?? {} })
      case 'error':
        return failed({ error: event.error ?? event })
      case 'keepalive':
        return ping
      default:
        return nothing
    }
  }

  /** A text of a kind that is not known counts as output. */
  #grow(type: string, { output_index: index }: JsonObject, delta: string): ProviderEvent {
    if (!this.#grown.has(index)) this.#grown.add(index)
    const call = this.#calls.get(index)
    if (call !== undefined) return deltaOf({ tool_calls: [{ index: call, function: { arguments: delta } }] })
    return deltaOf({ [growing[type] ?? 'content']: delta })
  }

  #begin(index: unknown, item: JsonObject): ProviderEvent {
    const tool = forbiddenToolOf(item, this.#allowed)
    if (tool !== undefined) this.#serverTools.push(tool)
    if (typeof item.call_id !== 'string' || typeof item.name !== 'string') return nothing
    const call = this.#calls.size
    this.#calls.set(index, call)
    const named = { name: item.name, arguments: '' }
    return deltaOf({ tool_calls: [{ index: call, id: item.call_id, type: 'function', function: named }] })
  }

  /** The parts of a whole item that did not come in pieces. */
  #end(index: unknown, item: JsonObject): ProviderEvent {
    const { encrypted_content: encrypted } = item
    const hidden =
      typeof encrypted === 'string' && encrypted !== ''
        ? { reasoning_details: [{ ...detailOfEncrypted(encrypted), index: this.#grown.size }] }
        : undefined
    const said = this.#grown.has(index) ? undefined : wholeDeltaOf(item, this.#calls.get(index))
    return hidden === undefined && said === undefined ? nothing : deltaOf({ ...said, ...hidden })
  }

  #finish(response: JsonObject): ProviderEvent {
    const choice = { index: 0, delta: {}, finish_reason: finishOf(response) }
    return { kind: 'chunk', chunk: { choices: [choice] }, usage: chatUsageOf(response.usage), isLast: true }
  }
}

/** The content of an item that came in one piece. */
function wholeDeltaOf(item: JsonObject, call: number | undefined): JsonObject | undefined {
  if (call !== undefined) {
    const written = item.arguments ?? item.input ?? ''
    return { tool_calls: [{ index: call, function: { arguments: written } }] }
  }
  const parts = objectsIn(item.content)
  const texts = (name: string) => parts.flatMap((part) => (typeof part[name] === 'string' ? part[name] : []))
  if (item.type === 'message')
    return { content: texts('text').join(''), refusal: texts('refusal').join('') || null }
  if (item.type !== 'reasoning') return undefined
  const thoughts = [...objectsIn(item.summary), ...parts].flatMap(({ text }) =>
    typeof text === 'string' ? text : [],
  )
  return thoughts.length === 0 ? undefined : { reasoning_content: thoughts.join('') }
}

function deltaOf(delta: JsonObject): ProviderEvent {
  return { kind: 'chunk', chunk: { choices: [{ index: 0, delta, finish_reason: null }] }, usage: undefined }
}

const malformed: ProviderEvent = { kind: 'failed', failure: failureOfBadAnswer('malformed_chunk') }

function failed(body: JsonObject): ProviderEvent {
  return { kind: 'failed', failure: failureOfErrorBody(body, 'error_event') }
}
