import type { JsonObject } from '../wire/json-fields.ts'

/** The only values of `finish_reason` that OpenAI's schema allows. */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'function_call'

/** Gemini's unchanged signature of a call or a text. Gemini rejects a call that comes back without it. */
export type Signed = { readonly extra_content: JsonObject }

/** The start of a tool call. Its arguments, or the input of a custom tool, follow in parts. */
export type CallStart = {
  /** 0, 1, 2 … in the order in which the calls of a choice were named. */
  readonly index: number
  readonly id: string
  readonly type: 'function' | 'custom'
  readonly name: string
  readonly signed: Signed | undefined
}

/** The next part of a started call. */
export type CallPart = {
  readonly index: number
  readonly type: CallStart['type']
  readonly text: string
  readonly signed: Signed | undefined
}

/**
 * The next piece of one choice of an answer, as it may be shown: without the provider's credential, in order, each once.
 *
 * Texts grow from step to step. Everything else is whole. A call's parts follow its start, and after `finish` a choice
 * has no more steps.
 */
export type ContentStep =
  | {
      readonly kind: 'text'
      readonly text: string
      readonly logprobs: JsonObject | null
      readonly signed: Signed | undefined
    }
  | { readonly kind: 'reasoning'; readonly text: string }
  /** Reasoning in pieces that the provider signed or encrypted: `reasoning_details`, each with its index. */
  | { readonly kind: 'details'; readonly details: readonly JsonObject[] }
  /** A signature without a text. */
  | { readonly kind: 'signed'; readonly signed: Signed }
  | { readonly kind: 'refusal'; readonly text: string }
  | { readonly kind: 'annotations'; readonly annotations: readonly JsonObject[] }
  | { readonly kind: 'images'; readonly images: readonly JsonObject[] }
  | { readonly kind: 'audio'; readonly audio: JsonObject }
  | { readonly kind: 'call'; readonly call: CallStart }
  | { readonly kind: 'call_part'; readonly part: CallPart }
  /** The start of the one call of the deprecated `function_call`; its arguments follow. */
  | { readonly kind: 'function'; readonly name: string }
  | { readonly kind: 'function_part'; readonly text: string }
  /** `stopSequence`: the one that ended it, where the provider reports it. */
  | { readonly kind: 'finish'; readonly reason: FinishReason; readonly stopSequence?: string }
