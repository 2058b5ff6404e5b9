import type { Refusal } from '#core/errors/refusal'
import type { JsonObject } from '../wire/json-fields.ts'
import type { OpenAiUsage } from '../wire/openai-usage.ts'
import type { ContentStep } from './content-step.ts'

/**
 * One API that clients speak: how a response, a stream and a rejection are written. Hiding the provider's credential and
 * measuring the delivered content happen before.
 */
export type ApiFormat = {
  readonly name: 'chat_completions' | 'responses' | 'messages'
  /** The response's id, made of its request's: one number finds everything. */
  readonly idOf: (requestId: string) => string
  /** A frame of a stream that clients skip. */
  readonly keepAlive: string
  /** The client's name of a field of a chat request: `messages[2].content`. */
  readonly parameterOf: (path: string) => string
  /** The body of a rejection. */
  readonly writeError: (refusal: Refusal, requestId: string) => string
  /** A rejection as a whole stream, for clients that accept nothing else; absent: they get `writeError`, too. */
  readonly writeErrorStream?: (refusal: Refusal, requestId: string) => string
  /** The frames that end a broken stream. */
  readonly writeStreamError: (refusal: Refusal, requestId: string) => string
  /** A whole response with the usage that is charged and its cost, as JSON has it. */
  readonly answerOf: (answer: FormatAnswer, usage: OpenAiUsage, costRub: string) => JsonObject
  readonly createStreamWriter: (stream: FormatStream) => StreamWriter
  /**
   * Stores a whole response, once its charge is settled, and answers what its client gets: the same, or that it is not
   * stored. Takes a second at most and never fails. Absent: nothing is stored.
   */
  readonly keep?: (json: string, requestId: string) => Promise<string>
  /** For providers that speak this API, too; absent: their responses are translated. */
  readonly relay?: RelayFormat
}

/**
 * Relays responses of a provider that speaks the client's own API: only ids, the model's name, what is encrypted and the usage
 * change.
 */
export type RelayFormat = {
  readonly createStreamRelay: (facts: FormatFacts) => StreamRelay
  /** A whole response. `share`: the part of its texts that is shown, 1 for all of them. */
  readonly answerOf: (own: JsonObject, facts: FormatFacts, charged: Charged, share: number) => JsonObject
}

/** The usage that is charged and its cost. */
export type Charged = { readonly usage: OpenAiUsage; readonly costRub: string }

/** Facts about a response that every format shows. */
export type FormatFacts = {
  readonly requestId: string
  /** The model that ran, by the name that clients use. */
  readonly model: string
  readonly createdS: number
  /** The mark of the provider that ran (`upstream/internal/signature-origin.ts`). */
  readonly origin: string
}

/** A whole response in OpenAI's terms. */
export type FormatAnswer = FormatFacts & {
  readonly choices: readonly JsonObject[]
  /** Fields about all of it: `system_fingerprint`, `service_tier`, `metadata`, `moderation`. */
  readonly extras: JsonObject
  /** The one that ended the first choice, where the provider reports it. */
  readonly stopSequence?: string | undefined
}

export type FormatStream = FormatFacts & {
  /** Whether the client asked for usage. */
  readonly usage: 'shown' | 'hidden'
  /** JSON without the provider's credential. */
  readonly writeJson: (value: object) => string
}

/** Writes one stream. What it returns are whole frames, which leave in this order. */
export type StreamWriter = {
  /** Fields about all of the response, before anything is written. */
  note(extras: JsonObject): void
  /** The next steps of one choice, one or more; `''` where the format waits for what follows. */
  write(choice: number, steps: readonly ContentStep[]): string
  /**
   * Writes a text that continues the last one, without `write`; `undefined`: it cannot. The text is the same in JSON: it
   * needs no escape.
   */
  textFrame(choice: number): ((text: string) => string) | undefined
  /** These frames, the last ones, do not leave. Absent: frames do not depend on those before. */
  discard?(frames: string): void
  /** Stores the response before its end is written, as `ApiFormat.keep` does; absent: nothing is stored. */
  readonly keep?: ((usage: OpenAiUsage, costRub: string) => Promise<void>) | undefined
  /** The end of a whole response, once its charge is settled. */
  end(usage: OpenAiUsage, costRub: string, moderation: JsonObject | undefined): string
}

/** Writes one relayed stream. What it returns are whole frames, which leave in this order. */
export type StreamRelay = {
  /** The text with which an event continues an item; `undefined`: it does not continue any. */
  deltaOf(event: JsonObject): Delta | undefined
  /** An event of the provider. `data`: its text, if nothing in the event was changed. `''`: the event waits for the end. */
  write(event: JsonObject, data: string | undefined): string
  /** For the deltas that follow `event`, a delta, and continue the same text: they need no `write`. */
  repeat(event: JsonObject): DeltaRepeat
  /** As `StreamWriter.discard`. */
  discard?(frames: string): void
  /** Ends all that is open, since the response reached its limit. */
  endAtLimit(): string
  /** Stores the response before its end is written, as `ApiFormat.keep` does; absent: nothing is stored. */
  readonly keep?: StreamWriter['keep']
  /** The end of a whole response, once its charge is settled. */
  end(usage: OpenAiUsage, costRub: string): string
}

/** How deltas are relayed that differ from an earlier one of the same text in nothing but a few values. */
export type DeltaRepeat = {
  /** The names of such values besides the text: a number that counts events, and a text without meaning. */
  readonly number?: string
  readonly padding?: string
  /** @param frame as it came. Returns the one that leaves. */
  relay(frame: string, values: DeltaValues): string
}

/** The values of such a delta. `numberAt`: where the digits of its number begin, -1 if it has none. */
export type DeltaValues = { readonly text: string; readonly numberAt: number; readonly numberEnd: number }

/** `field`: the same for all events that continue the same text. `name`: of the text in the event. */
export type Delta = {
  readonly field: string
  readonly name: string
  readonly text: string
  /** The same event with another text. */
  readonly withText: (text: string) => JsonObject
}
