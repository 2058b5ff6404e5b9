/** A field of a request that reaches no provider. */
export type DroppedField = {
  /** The name that its client reads: the same for all of a kind. */
  readonly name: string
  /** Its place: `input[3]`. */
  readonly path: string
  /** A field beyond OpenAI's that is still in the chat: some providers take it. */
  readonly isExtra?: true
}

/**
 * Whether a backend that gets the client's own request may read more from it than its bytes: it is not known what parts refer
 * to that a chat has no place for. Pure.
 *
 * @param inert names of those whose text is in the body, or which no backend gets.
 */
export function mayReferOutside(dropped: readonly DroppedField[], inert: RegExp): boolean {
  return dropped.some(({ name }) => !inert.test(name))
}
