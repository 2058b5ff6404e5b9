import { fieldsOf, type JsonObject, objectsIn } from '../../wire/json-fields.ts'
import type { OpenAiUsage } from '../../wire/openai-usage.ts'
import type { Charged, Delta, DeltaRepeat, FormatFacts, StreamRelay } from '../api-format.ts'
import type { SignedReasoning } from '../signed-reasoning.ts'
import { eventsIn } from './item-events.ts'
import { deltaUsage, messageFrame, messageIdOf, messageUsage, usageBefore } from './message-object.ts'

export type MessagesRelayOptions = {
  readonly facts: FormatFacts
  /** `undefined`: it cannot be encrypted, and clients do without it. */
  readonly encrypt: (signed: SignedReasoning) => string | undefined
  /** Estimated, for a provider that counts none. */
  readonly promptTokens: () => number
}

/** The field of a delta with its text. */
const growing = ['text', 'thinking', 'partial_json'] as const

const asTheyCome: DeltaRepeat = { relay: (frame) => frame }

/** A whole message of Anthropic's as the client gets it. `share`: the part of its texts that is shown. */
export function relayedMessage(
  given: JsonObject,
  options: MessagesRelayOptions,
  charged: Charged,
  share: number,
): JsonObject {
  const message = share < 1 ? cutMessage(given, share) : given
  return {
    ...message,
    ...namesOf(options.facts),
    ...(Array.isArray(message.content)
      ? { content: message.content.map((block) => encryptedBlock(block, options)) }
      : {}),
    stop_reason: message.stop_reason ?? 'end_turn',
    usage: { ...messageUsage(charged.usage, charged.costRub), ...chargedUsage(given.usage, charged) },
  }
}

/** Relays the events of one message. Its end waits for the usage that is charged. */
export class MessagesRelay implements StreamRelay {
  readonly #options: MessagesRelayOptions
  /** Indexes of blocks that have not ended. */
  readonly #open = new Set<unknown>()
  #end: JsonObject = {}

  constructor(options: MessagesRelayOptions) {
    this.#options = options
  }

  deltaOf(event: JsonObject): Delta | undefined {
    const delta = fieldsOf(event.delta)
    if (event.type !== 'content_block_delta' || delta === undefined) return undefined
    const name = growing.find((field) => typeof delta[field] === 'string')
    if (name === undefined) return undefined
    return {
      field: `${event.index} ${name}`,
      name,
      text: String(delta[name]),
      withText: (text) => ({ ...event, delta: { ...delta, [name]: text } }),
    }
  }

  write(event: JsonObject, data: string | undefined): string {
    switch (event.type) {
      case 'message_start': {
        const { facts, promptTokens } = this.#options
        const given = fieldsOf(event.message) ?? {}
        const usage = fieldsOf(given.usage) ?? usageBefore(promptTokens())
        return frameOf({ ...event, message: { ...given, ...namesOf(facts), usage } })
      }
      case 'content_block_start':
        this.#open.add(event.index)
        return this.#writeSigned(event, 'content_block', data)
      case 'content_block_delta':
        return this.#writeSigned(event, 'delta', data)
      case 'content_block_stop':
        this.#open.delete(event.index)
        return frameOf(event, data)
      case 'message_delta':
        this.#end = mergedEnd(this.#end, event)
        return ''
      case 'message_stop':
        return ''
      default:
        return frameOf(event, data)
    }
  }

  repeat(): DeltaRepeat {
    return asTheyCome
  }

  discard(frames: string): void {
    for (const { type, index } of eventsIn(frames).toReversed())
      if (type === 'content_block_start') this.#open.delete(index)
      else if (type === 'content_block_stop') this.#open.add(index)
  }

  endAtLimit(): string {
    const frames = [...this.#open].map((index) => frameOf({ type: 'content_block_stop', index }))
    this.#open.clear()
    this.#end = mergedEnd(this.#end, { delta: { stop_reason: 'max_tokens', stop_sequence: null } })
    return frames.join('')
  }

  end(usage: OpenAiUsage, costRub: string): string {
    const { delta: given, usage: counts, ...fields } = this.#end
    const reason = { stop_sequence: null, stop_details: null, container: null, ...fieldsOf(given) }
    const delta = { ...reason, stop_reason: fieldsOf(given)?.stop_reason ?? 'end_turn' }
    const end = { ...fields, delta, usage: chargedUsage(counts, { usage, costRub }) }
    return frameOf({ type: 'message_delta', ...end }) + frameOf({ type: 'message_stop' })
  }

  #writeSigned(event: JsonObject, name: string, data: string | undefined): string {
    const own = encryptedBlock(event[name], this.#options)
    return own === event[name] ? frameOf(event, data) : frameOf({ ...event, [name]: own })
  }
}

function namesOf({ requestId, model }: FormatFacts): JsonObject {
  return { id: messageIdOf(requestId), model }
}

/** The last value of each field counts. */
function mergedEnd(known: JsonObject, event: JsonObject): JsonObject {
  const merged = (name: string) => ({ ...fieldsOf(known[name]), ...fieldsOf(event[name]) })
  return { ...known, ...event, delta: merged('delta'), usage: merged('usage') }
}

/** The provider's usage with the counts that are charged, and what they cost. */
function chargedUsage(given: unknown, { usage, costRub }: Charged): JsonObject {
  const { server_tool_use, output_tokens_details, ...counts } = deltaUsage(usage, costRub)
  const fields = fieldsOf(given) ?? {}
  const details = { ...fieldsOf(fields.output_tokens_details), ...fieldsOf(output_tokens_details) }
  return { server_tool_use, ...fields, ...counts, output_tokens_details: details }
}

/** A block, or a piece of one, whose signature only its organization can send back; the very same without one. */
function encryptedBlock(given: unknown, options: MessagesRelayOptions): unknown {
  const block = fieldsOf(given)
  if (block === undefined) return given
  const { type, signature, data } = block
  if (typeof signature === 'string' && signature !== '')
    return { ...block, signature: encrypted({ type: 'reasoning.text', index: 0, signature }, options) }
  if (type === 'redacted_thinking' && typeof data === 'string')
    return { ...block, data: encrypted({ type: 'reasoning.encrypted', index: 0, data }, options) }
  return given
}

function encrypted(detail: JsonObject, { facts, encrypt }: MessagesRelayOptions): string {
  return encrypt({ origin: facts.origin, details: [detail], calls: {}, content: null }) ?? ''
}

/** As it was cut at its limit: the first part of its texts, and no calls, which could not be made. */
function cutMessage(message: JsonObject, share: number): JsonObject {
  const content = objectsIn(message.content)
    .filter(({ type }) => type !== 'tool_use')
    .map((block) =>
      typeof block.text === 'string'
        ? { ...block, text: block.text.slice(0, Math.floor(block.text.length * share)) }
        : block,
    )
  return { ...message, content, stop_reason: 'max_tokens', stop_sequence: null }
}

/** As it came, but in one line. @param given its JSON, if nothing in it was changed. */
function frameOf(event: JsonObject, given?: string): string {
  const isSame = given !== undefined && !given.includes('\n')
  return messageFrame(event.type, isSame ? given : JSON.stringify(event))
}
