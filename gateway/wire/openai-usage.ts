/** Usage as OpenAI's wire has it: details are parts of their totals. */
export type OpenAiUsage = {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
  readonly prompt_tokens_details: { readonly cached_tokens: number; readonly [detail: string]: number }
  readonly completion_tokens_details: { readonly reasoning_tokens: number; readonly [detail: string]: number }
}
