import { fieldsOf, type JsonObject, objectsIn } from '../../../../wire/json-fields.ts'
import { failureOfBadAnswer, failureOfErrorBody } from '../../../failure.ts'
import type { ProviderEvent, RelayReader } from '../../../provider-adapter.ts'
import { finishOf } from './finish.ts'
import { citationsIn, hiddenDetailOf, isCustomCall, namedCall, type ResponsesReading } from './items.ts'
import { forbiddenToolOf } from './server-tools.ts'
import { chatUsageOf } from './usage.ts'

const nothing: ProviderEvent = { kind: 'nothing' }
const ping: ProviderEvent = { kind: 'ping' }

/** Reads the events of one response. */
export function createRelayReader(reading: ResponsesReading): RelayReader {
  return new ResponseReader(reading)
}

/** The field of a chat's delta for each text that grows. */
const growing: Readonly<Record<string, string>> = {
  'response.output_text.delta': 'content',
  'response.refusal.delta': 'refusal',
  'response.reasoning_summary_text.delta': 'reasoning_content',
  'response.reasoning_text.delta': 'reasoning_content',
}

/** `index`: among the calls. */
type Call = { readonly index: number; readonly isCustom: boolean }

class ResponseReader implements RelayReader {
  readonly #reading: ResponsesReading
  readonly #serverTools: string[] = []
  /** By the index of their item. */
  readonly #calls = new Map<unknown, Call>()
  /** Items of which a text came in pieces. */
  readonly #grown = new Set<unknown>()
  #detailCount = 0

  constructor(reading: ResponsesReading) {
    this.#reading = reading
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
    if (call !== undefined) return callDelta(call, delta)
    return deltaOf({ [growing[type] ?? 'content']: delta })
  }

  #begin(index: unknown, item: JsonObject): ProviderEvent {
    const tool = forbiddenToolOf(item, this.#reading.allowed)
    if (tool !== undefined) this.#serverTools.push(tool)
    if (typeof item.call_id !== 'string' || typeof item.name !== 'string') return nothing
    const call = { index: this.#calls.size, isCustom: isCustomCall(item) }
    this.#calls.set(index, call)
    return deltaOf({ tool_calls: [{ index: call.index, ...namedCall(item, '') }] })
  }

  /** The parts of a whole item that did not come in pieces. */
  #end(index: unknown, item: JsonObject): ProviderEvent {
    const hidden = hiddenDetailOf(item, this.#reading.origin, this.#detailCount)
    if (hidden !== undefined) this.#detailCount += 1
    const said = this.#grown.has(index) ? undefined : wholeDeltaOf(item, this.#calls.get(index))
    const annotations = citationsIn([item])
    if (hidden === undefined && said === undefined && annotations === undefined) return nothing
    return deltaOf({
      ...said,
      ...(annotations === undefined ? {} : { annotations }),
      ...(hidden === undefined ? {} : { reasoning_details: [hidden] }),
    })
  }

  #finish(response: JsonObject): ProviderEvent {
    const choice = { index: 0, delta: {}, finish_reason: finishOf(response) }
    return { kind: 'chunk', chunk: { choices: [choice] }, usage: chatUsageOf(response.usage), isLast: true }
  }
}

/** The content of an item that came in one piece. */
function wholeDeltaOf(item: JsonObject, call: Call | undefined): JsonObject | undefined {
  if (call !== undefined) return partOfCall(call, item.arguments ?? item.input ?? '')
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

function callDelta(call: Call, written: string): ProviderEvent {
  return deltaOf(partOfCall(call, written))
}

function partOfCall({ index, isCustom }: Call, written: unknown): JsonObject {
  return {
    tool_calls: [
      { index, ...(isCustom ? { custom: { input: written } } : { function: { arguments: written } }) },
    ],
  }
}

function deltaOf(delta: JsonObject): ProviderEvent {
  return { kind: 'chunk', chunk: { choices: [{ index: 0, delta, finish_reason: null }] }, usage: undefined }
}

/** A failure: not an event of this API. */
export const malformed: ProviderEvent = { kind: 'failed', failure: failureOfBadAnswer('malformed_chunk') }

function failed(body: JsonObject): ProviderEvent {
  return { kind: 'failed', failure: failureOfErrorBody(body, 'error_event') }
}
