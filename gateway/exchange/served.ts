import type { Failure } from '../upstream/failure.ts'
import type { OpenAiUsage } from '../wire/openai-usage.ts'
import type { Generated } from './delivered-text.ts'
import type { UsageReading } from './usage.ts'

/** A provider's whole answer, ready to be sent but for its usage. */
type PlainAnswer = {
  /** The generated content, for an estimate if usage is missing. */
  readonly generated: Generated
  /**
   * The answer as JSON, with the usage that is charged and its cost. `share`: the part of its texts that is shown, 1 for
   * all of them.
   */
  readonly write: (usage: OpenAiUsage, costRub: string, share: number) => string
}

/** The result of one attempt. */
export type Served =
  /** The client has seen nothing of it; another target may be tried. */
  | { readonly kind: 'failed'; readonly failure: Failure }
  /** The client left before a provider had answered 2xx. */
  | { readonly kind: 'left_unanswered' }
  /** A whole non-streaming response, not sent yet; or the client left while it was read (`answer: null`). */
  | { readonly kind: 'plain'; readonly answer: PlainAnswer | null; readonly usage: UsageReading }
  /**
   * A stream of which the client has received everything but its end. `cutBy`: what broke it off, if anything
   * did, whether its client was still there or not.
   */
  | {
      readonly kind: 'streamed'
      readonly ending: 'complete' | 'client_gone' | 'upstream_cut'
      readonly cutBy: Failure | null
      /** The longest that its client had the provider wait, in ms. */
      readonly heldUpMs: number
      readonly usage: UsageReading
      /** The usage chunk, where the client asked for it, and `[DONE]`: what is missing. */
      readonly writeEnd: (usage: OpenAiUsage, costRub: string) => string
      /** Stores it before that; absent: nothing is stored. */
      readonly keep?: ((usage: OpenAiUsage, costRub: string) => Promise<void>) | undefined
    }
