import { createDelivered } from '../../exchange/delivered-text.ts'
import type { FormatFacts, RelayFormat, StreamRelay } from '../../formats/api-format.ts'
import { failureOfBadAnswer, failureOfErrorBody, failureOfFault } from '../../upstream/failure.ts'
import type { ProviderEvent, RelayReader } from '../../upstream/provider-adapter.ts'
import { type SecretSearch, searchFor } from '../../upstream/secret-search.ts'
import {
  fieldsOf,
  findAnswerJson,
  findExactJson,
  type JsonObject,
  mayBeLong,
} from '../../wire/json-fields.ts'
import type { OpenAiUsage } from '../../wire/openai-usage.ts'
import { acceptChoice, type ChoiceStream, createChoiceStream } from './choice-stream.ts'
import { createShownTexts, type ShownTexts } from './shown-texts.ts'
import { errorInBareJson, lengthOf, type StreamNormaliser, type StreamStep } from './stream-normaliser.ts'

export type RelayedStreamOptions = FormatFacts & {
  readonly reader: RelayReader
  readonly relay: RelayFormat
  /** The provider's credential, in every form: the client never reads it. */
  readonly secrets: readonly string[]
}

const nothing: StreamStep = { kind: 'nothing' }
const ping: StreamStep = { kind: 'ping' }

/** Relays the stream of a provider that speaks its client's API. It is measured as a chat of one choice. */
export function createRelayedStream(options: RelayedStreamOptions): StreamNormaliser {
  return new RelayedStream(options)
}

class RelayedStream implements StreamNormaliser {
  readonly delivered = createDelivered()
  readonly #reader: RelayReader
  readonly #relay: StreamRelay
  readonly #search: SecretSearch | undefined
  readonly #shown: ShownTexts<JsonObject>
  /** The content, to be measured: its steps are not written. */
  readonly #choice: ChoiceStream
  /** Frames before the first content: until then the attempt can be discarded. */
  #early = ''
  #hasContent = false
  #isOver = false
  #usage: { readonly given: unknown; readonly atLength: number } | undefined

  constructor({ reader, relay, secrets, ...facts }: RelayedStreamOptions) {
    this.#reader = reader
    this.#relay = relay.createStreamRelay(facts)
    this.#search = searchFor(secrets)
    this.#shown = createShownTexts(this.#search)
    this.#choice = createChoiceStream(this.delivered, undefined, (call) => `call_${facts.requestId}_${call}`)
  }

  accept(data: string): StreamStep {
    if (this.#isOver) return nothing
    if (data.startsWith('[DONE]')) return this.end()
    const event = fieldsOf(findAnswerJson(data))
    if (event === undefined) return this.#conclude(failedAs('malformed_chunk'))
    return this.#conclude(this.#take(this.#reader.read(event), event, data))
  }

  acceptBytes(): undefined {
    return undefined
  }

  acceptBareJson(text: string): StreamStep {
    const step = this.#isOver ? nothing : errorInBareJson(text)
    return this.#conclude(step)
  }

  end(): StreamStep {
    if (this.#isOver) return nothing
    if (this.finished() === 'no') return this.#conclude({ kind: 'failed', failure: failureOfFault('cut') })
    return this.#conclude({ kind: 'ended', text: this.#takeEarly() })
  }

  endAtLimit(unsent: string): string {
    this.#isOver = true
    this.#relay.discard?.(unsent)
    this.#shown.release([]) // beyond the limit, too
    return this.#relay.endAtLimit()
  }

  heldFrames(): string {
    return this.#writeHeld()
  }

  get keep(): StreamNormaliser['keep'] {
    return this.#relay.keep
  }

  /** Bound, since it is called once all else is over. */
  readonly finishFrames = (usage: OpenAiUsage, costRub: string): string => this.#relay.end(usage, costRub)

  finished(): 'no' | 'all' {
    return this.#choice.finish === undefined ? 'no' : 'all'
  }

  usage(): unknown {
    return this.#usage?.atLength === lengthOf(this.delivered) ? this.#usage.given : undefined
  }

  serverTools(): readonly string[] {
    return this.#reader.serverTools()
  }

  #take(meaning: ProviderEvent, event: JsonObject, data: string): StreamStep {
    switch (meaning.kind) {
      case 'ping':
        return ping
      case 'failed':
        return meaning
      case 'nothing':
        return this.#frames(this.#write(event, data))
      case 'end':
        // A response without a reason to stop is whole only if it has content.
        if (this.finished() === 'no' && !this.#hasContent) return failedAs('empty_answer')
        return { kind: 'ended', text: this.#takeEarly() + this.#write(event, data) }
      case 'chunk': {
        const problem = this.#measure(meaning)
        if (problem !== undefined) return problem
        const text = this.#write(event, data)
        return meaning.isLast === true
          ? { kind: 'ended', text: this.#takeEarly() + text }
          : this.#frames(text)
      }
    }
  }

  #measure({ chunk, usage }: Extract<ProviderEvent, { kind: 'chunk' }>): StreamStep | undefined {
    for (const given of Array.isArray(chunk.choices) ? chunk.choices : []) {
      const steps = acceptChoice(this.#choice, fieldsOf(given) ?? {})
      if (steps === 'malformed') return failedAs('malformed_chunk')
      if (steps === 'failed') return { kind: 'failed', failure: failureOfErrorBody(undefined, 'error_event') }
      if (steps.length > 0) this.#hasContent = true
    }
    if (usage !== undefined) this.#usage = { given: usage, atLength: lengthOf(this.delivered) }
    return undefined
  }

  #frames(text: string): StreamStep {
    if (!this.#hasContent) {
      this.#early += text
      return nothing
    }
    const frames = this.#takeEarly() + text
    return frames === '' ? nothing : { kind: 'frames', text: frames }
  }

  #takeEarly(): string {
    const early = this.#early
    this.#early = ''
    return early
  }

  /** The event without the provider's credential. Texts that may be its beginning wait for what follows. */
  #write(event: JsonObject, data: string): string {
    const search = this.#search
    const delta = this.#relay.deltaOf(event)
    // Most events are deltas that leave as they came: only the text of others is read again.
    const exact = delta === undefined ? exactOf(event, data) : event
    if (search === undefined) return this.#relay.write(exact, data)
    const isClear = delta === undefined || this.#shown.isClear(delta.field, delta.text)
    if (isClear && !this.#shown.isHolding() && search.isAbsentFrom(data))
      return this.#relay.write(exact, data)
    if (delta !== undefined) return this.#writeDelta(this.#relay.deltaOf(exactOf(event, data)) ?? delta)
    return this.#writeHeld() + this.#relay.write(this.#hidden(exact), undefined)
  }

  #writeDelta({ field, text, withText }: NonNullable<ReturnType<StreamRelay['deltaOf']>>): string {
    const steps: JsonObject[] = []
    const shown = this.#shown.grow(field, text, withText, steps)
    if (shown !== '') steps.push(withText(shown))
    return this.#writeAll(steps)
  }

  #writeHeld(): string {
    if (!this.#shown.isHolding()) return ''
    const steps: JsonObject[] = []
    this.#shown.release(steps)
    return this.#writeAll(steps)
  }

  #writeAll(events: readonly JsonObject[]): string {
    return events.map((event) => this.#relay.write(this.#hidden(event), undefined)).join('')
  }

  #hidden(event: JsonObject): JsonObject {
    return fieldsOf(this.#search?.hidden(event)) ?? event
  }

  #conclude(step: StreamStep): StreamStep {
    if (step.kind === 'ended' || step.kind === 'failed') this.#isOver = true
    return step
  }
}

/** The event with its long numbers, if it has any: what is written again keeps their digits. */
function exactOf(event: JsonObject, data: string): JsonObject {
  return mayBeLong(data) ? (fieldsOf(findExactJson(data)) ?? event) : event
}

function failedAs(result: string): StreamStep {
  return { kind: 'failed', failure: failureOfBadAnswer(result) }
}
