import type { JsonObject } from '../wire/json-fields.ts'

/** The parts of a response that its provider signed or encrypted, and wants back unchanged. */
export type SignedReasoning = {
  /** The mark of the provider. */
  readonly origin: string
  /** `reasoning_details`, each whole. */
  readonly details: readonly JsonObject[]
  /** The `extra_content` of calls by their ids. */
  readonly calls: { readonly [callId: string]: JsonObject }
  /** The `extra_content` of the text. */
  readonly content: JsonObject | null
  /** The reasoning itself, where its client does not have it. */
  readonly text?: string
}
