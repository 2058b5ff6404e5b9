/** A field of a request that reaches no provider. */
export type DroppedField = {
  /** The name that its client reads: the same for all of a kind. */
  readonly name: string
  /** Its place: `input[3]`. */
  readonly path: string
  /** A field beyond OpenAI's that is still in the chat: some providers take it. */
  readonly isExtra?: true
}
