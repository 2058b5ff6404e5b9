/** One message of a chat; what else it carries goes to the provider as it is. */
export type ChatMessage = {
  readonly role: string
  readonly content?: unknown
  readonly [field: string]: unknown
}

/** The body of a chat request, checked: types and bounds hold; unknown fields are there as they came. */
export type ChatRequest = {
  readonly model: string
  readonly messages: readonly ChatMessage[]
  readonly stream?: boolean
  readonly stream_options?: { readonly include_usage?: boolean; readonly [field: string]: unknown }
  readonly n?: number
  readonly max_tokens?: number
  readonly max_completion_tokens?: number
  readonly [field: string]: unknown
}
