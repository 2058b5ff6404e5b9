/** What the response to a Messages request depends on, and how it undoes what a chat has in another way. */
export type MessagesAsked = {
  /** By the name that the catalog has. */
  readonly model: string
  /** `omitted`: the client wants to return the model's reasoning, and not to read it. */
  readonly thinking: 'shown' | 'omitted'
  readonly stopSequences: readonly string[]
  /** The client's name of a function that the model called. */
  readonly toolNameOf: (functionName: string) => string
  /** The client's path of a field of the chat request. */
  readonly pathOf: (path: string) => string
}

/** Of a request that could not be read. */
export const noMessagesAsked: MessagesAsked = {
  model: '',
  thinking: 'shown',
  stopSequences: [],
  toolNameOf: (name) => name,
  pathOf: (path) => path,
}
