import { createDelivered } from '../../exchange/delivered-text.ts'
import type { Delta, DeltaRepeat, FormatFacts, RelayFormat, StreamRelay } from '../../formats/api-format.ts'
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
import { type EventPattern, findPattern, valuesIn } from './event-pattern.ts'
import { createShownTexts, type ShownTexts } from './shown-texts.ts'
import { errorInBareJson, lengthOf, type StreamNormaliser, type StreamStep } from './stream-normaliser.ts'

export type RelayedStreamOptions = FormatFacts & {
  readonly reader: RelayReader
  readonly relay: RelayFormat
  /** The provider's credential, in every form: the client never reads it. */
  readonly secrets: readonly string[]
}

/** A delta of content that was relayed. `field`: of its text. */
type Earlier = {
  readonly field: string
  readonly pattern: EventPattern
  readonly relay: DeltaRepeat['relay']
}

type Chunk = Extract<ProviderEvent, { kind: 'chunk' }>
/** An event, the text that it continues, and its JSON. */
type Given = { readonly event: JsonObject; readonly delta: Delta | undefined; readonly data: string }

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
  /** Since then nothing came but deltas of the same text. */
  #earlier: Earlier | undefined

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
    const delta = this.#relay.deltaOf(event)
    if (delta?.field !== this.#earlier?.field) this.#earlier = undefined
    return this.#conclude(this.#take(this.#reader.read(event), { event, delta, data }))
  }

  /** Most reads of a slow stream are a delta like the one before. */
  acceptBytes(bytes: Buffer): StreamStep | undefined {
    const earlier = this.#earlier
    if (earlier === undefined) return undefined
    const frame = bytes.toString('utf8')
    const values = valuesIn(frame, earlier.pattern)
    if (values === undefined || !this.#isClear(earlier.field, values.text, frame)) return undefined
    this.delivered.output.add(values.text)
    return { kind: 'frames', text: earlier.relay(frame, values) }
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
    this.#earlier = undefined
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

  #take(meaning: ProviderEvent, given: Given): StreamStep {
    switch (meaning.kind) {
      case 'ping':
        return ping
      case 'failed':
        return meaning
      case 'nothing':
        return this.#frames(this.#write(given))
      case 'end':
        // A response without a reason to stop is whole only if it has content.
        if (this.finished() === 'no' && !this.#hasContent) return failedAs('empty_answer')
        return { kind: 'ended', text: this.#takeEarly() + this.#write(given) }
      case 'chunk': {
        const problem = this.#measure(meaning)
        if (problem !== undefined) return problem
        const text = this.#write(given)
        this.#remember(meaning, given)
        return meaning.isLast === true
          ? { kind: 'ended', text: this.#takeEarly() + text }
          : this.#frames(text)
      }
    }
  }

  /** Remembers a delta that was nothing but content. */
  #remember({ chunk }: Chunk, { event, delta, data }: Given): void {
    if (delta === undefined || this.#earlier !== undefined || this.finished() !== 'no') return
    const [choice] = Array.isArray(chunk.choices) ? chunk.choices : []
    const { content, ...others } = fieldsOf(fieldsOf(choice)?.delta) ?? {}
    if (content !== delta.text || Object.keys(others).length > 0) return
    const { relay, ...names } = this.#relay.repeat(event)
    const frame = `event: ${event.type}\ndata: ${data}\n\n`
    const pattern = findPattern(frame, delta.text, { text: delta.name, ...names })
    if (pattern !== undefined) this.#earlier = { field: delta.field, pattern, relay }
  }

  #measure({ chunk, usage }: Chunk): StreamStep | undefined {
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
  #write({ event, delta, data }: Given): string {
    // Most events are deltas that leave as they came: only the text of others is read again.
    const exact = delta === undefined ? exactOf(event, data) : event
    if (this.#isClear(delta?.field, delta?.text, data)) return this.#relay.write(exact, data)
    if (delta !== undefined) return this.#writeDelta(this.#relay.deltaOf(exactOf(event, data)) ?? delta)
    return this.#writeHeld() + this.#relay.write(this.#hidden(exact), undefined)
  }

  /** Whether an event can leave as it came, which may continue a text. */
  #isClear(field: string | undefined, text: string | undefined, data: string): boolean {
    const search = this.#search
    if (search === undefined) return true
    const isText = field !== undefined && text !== undefined
    if (isText && !this.#shown.isClear(field, text)) return false
    return !this.#shown.isHolding() && search.isAbsentFrom(data)
  }

  #writeDelta({ field, text, withText }: Delta): string {
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
