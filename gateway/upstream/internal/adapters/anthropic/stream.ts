import { fieldsOf, findAnswerJson, type JsonObject } from '../../../../wire/json-fields.ts'
import { failureOfBadAnswer, failureOfErrorBody, isErrorBody } from '../../../failure.ts'
import type { EventReader, ProviderEvent, RelayReader } from '../../../provider-adapter.ts'
import { type AnthropicReading, finishOf, hiddenDetail, refusalOf, thoughtDetail } from './blocks.ts'
import { forbiddenToolOf } from './server-tools.ts'
import { usageOf, withReport } from './usage.ts'

const nothing: ProviderEvent = { kind: 'nothing' }
const ping: ProviderEvent = { kind: 'ping' }
const end: ProviderEvent = { kind: 'end' }
const malformed: ProviderEvent = { kind: 'failed', failure: failureOfBadAnswer('malformed_chunk') }

/** Reads the events of one message. Those of types and blocks that it does not know are nothing. */
export function createEventReader(reading: AnthropicReading): EventReader {
  const reader = new MessageReader(reading)
  return {
    textKey: 'text',
    countsKey: 'usage',
    eventHead: 'event: content_block_delta\ndata: ',
    read: (data) => {
      const event = fieldsOf(findAnswerJson(data))
      return event === undefined ? malformed : reader.read(event)
    },
  }
}

export type OwnReading = AnthropicReading & {
  /** Types of the provider's tools that the request may use. */
  readonly allowed: ReadonlySet<unknown>
}

/** The same for a message that is relayed. A text of a kind that is not known counts as output. */
export function createRelayReader(reading: OwnReading): RelayReader {
  const reader = new MessageReader(reading)
  const serverTools: string[] = []
  return {
    read(event) {
      const tool = forbiddenToolOf(fieldsOf(event.content_block) ?? {}, reading.allowed)
      if (tool !== undefined) serverTools.push(tool)
      const meaning = reader.read(event)
      return meaning === nothing && event.type === 'content_block_delta' ? unknownDelta(event.delta) : meaning
    },
    serverTools: () => serverTools,
  }
}

function unknownDelta(given: unknown): ProviderEvent {
  const { type, signature, ...texts } = fieldsOf(given) ?? {}
  const text = Object.values(texts).filter((value) => typeof value === 'string')
  return text.length === 0 ? nothing : deltaOf({ content: text.join('') })
}

class MessageReader {
  readonly #reading: AnthropicReading
  /** By the index of its block. */
  readonly #calls = new Map<unknown, number>()
  readonly #details = new Map<unknown, number>()
  #report: JsonObject = {}

  constructor(reading: AnthropicReading) {
    this.#reading = reading
  }

  read(event: JsonObject): ProviderEvent {
    switch (event.type) {
      case 'content_block_delta':
        return this.#readDelta(event.index, fieldsOf(event.delta) ?? {})
      case 'content_block_start':
        return this.#begin(event.index, fieldsOf(event.content_block) ?? {})
      case 'message_start':
        this.#report = withReport(this.#report, beginningOf(fieldsOf(event.message)?.usage))
        return nothing
      case 'message_delta':
        return this.#finish(fieldsOf(event.delta) ?? {}, event.usage)
      case 'message_stop':
        return end
      case 'ping':
        return ping
      default:
        return isErrorBody(event)
          ? { kind: 'failed', failure: failureOfErrorBody(event, 'error_event') }
          : nothing
    }
  }

  #begin(index: unknown, block: JsonObject): ProviderEvent {
    switch (block.type) {
      case 'text':
        return block.text === '' ? nothing : deltaOf({ content: block.text })
      case 'thinking':
        this.#details.set(index, this.#details.size)
        return block.thinking ? this.#addThought(index, block.thinking) : nothing
      case 'redacted_thinking': {
        const place = this.#details.size
        this.#details.set(index, place)
        return deltaOf({ reasoning_details: [hiddenDetail(place, this.#reading.origin, block.data)] })
      }
      case 'tool_use':
        return this.#beginCall(index, block)
      default:
        return nothing
    }
  }

  #beginCall(index: unknown, { id, name }: JsonObject): ProviderEvent {
    const call = this.#calls.size
    this.#calls.set(index, call)
    const named = { name: this.#reading.nameOf(String(name)), arguments: '' }
    return deltaOf({ tool_calls: [{ index: call, id, type: 'function', function: named }] })
  }

  #readDelta(index: unknown, delta: JsonObject): ProviderEvent {
    switch (delta.type) {
      case 'text_delta':
        return deltaOf({ content: delta.text })
      case 'input_json_delta':
        return this.#addArguments(index, delta.partial_json)
      case 'thinking_delta':
        return this.#addThought(index, delta.thinking)
      case 'signature_delta':
        return this.#sign(index, delta.signature)
      default:
        return nothing
    }
  }

  #addArguments(index: unknown, fragment: unknown): ProviderEvent {
    const call = this.#calls.get(index)
    // A tool that the provider runs itself has no call here.
    return call === undefined
      ? nothing
      : deltaOf({ tool_calls: [{ index: call, function: { arguments: fragment } }] })
  }

  #addThought(block: unknown, text: unknown): ProviderEvent {
    const index = this.#details.get(block)
    if (index === undefined) return malformed
    return deltaOf({ reasoning_content: text, reasoning_details: [{ type: 'reasoning.text', index, text }] })
  }

  /**
   * Some SDKs join the texts of a detail's pieces, so each name is in one of them. Others keep the last piece only, so all
   * names are in that: a signature is valid without its text.
   */
  #sign(block: unknown, signature: unknown): ProviderEvent {
    const index = this.#details.get(block)
    if (index === undefined) return malformed
    return deltaOf({ reasoning_details: [thoughtDetail(index, this.#reading.origin, { signature })] })
  }

  #finish({ stop_reason: stopReason, stop_details }: JsonObject, usage: unknown): ProviderEvent {
    this.#report = withReport(this.#report, usage)
    const delta = refusalOf(stopReason, fieldsOf(stop_details)?.explanation)
    const finish = stopReason === null || stopReason === undefined ? null : finishOf(stopReason)
    const chunk = { choices: [{ index: 0, delta, finish_reason: finish }] }
    return { kind: 'chunk', chunk, usage: usageOf(this.#report) }
  }
}

/** The counts of a message that begins: its output's count is no total. */
function beginningOf(usage: unknown): JsonObject {
  return { ...fieldsOf(usage), output_tokens: null }
}

function deltaOf(delta: JsonObject): ProviderEvent {
  return { kind: 'chunk', chunk: { choices: [{ index: 0, delta, finish_reason: null }] }, usage: undefined }
}
