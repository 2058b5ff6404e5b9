import { fieldsOf, type JsonObject } from '../../../../wire/json-fields.ts'

/** Usage by OpenAI's names of chat completions; `undefined`: there is none. */
export function chatUsageOf(given: unknown): JsonObject | undefined {
  const usage = fieldsOf(given)
  if (usage === undefined) return undefined
  return {
    prompt_tokens: usage.input_tokens,
    completion_tokens: usage.output_tokens,
    total_tokens: usage.total_tokens,
    prompt_tokens_details: usage.input_tokens_details,
    completion_tokens_details: usage.output_tokens_details,
  }
}
