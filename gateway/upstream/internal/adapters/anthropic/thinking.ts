import type { JsonObject } from '../../../../wire/json-fields.ts'
import type { AnthropicModel } from '../../quirks.ts'

/** Least tokens of a budget (API reference, thinking.budget_tokens). */
export const budgetMin = 1_024
/** Tokens to think with, for each effort; those of Google's compatible endpoint, as Anthropic publishes none. */
const budgets: Readonly<Record<string, number>> = { low: 1_024, medium: 8_192, high: 24_576 }

export type Thinking = { readonly thinking?: JsonObject; readonly effort?: string }

/**
 * What `reasoning_effort` is here, after the levels of the model's row. Thinking is asked for in a readable form: by
 * default the newest models return none.
 *
 * @param limit the response's output tokens, of which a budget is a part.
 */
export function thinkingOf(level: unknown, limit: number, model: AnthropicModel | undefined): Thinking {
  if (typeof level !== 'string' || model === undefined || model.thinking === 'none') return {}
  if (level === 'none') return model.off === undefined ? {} : { thinking: { type: model.off } }
  if (model.thinking === 'adaptive')
    return { thinking: { type: 'adaptive', display: 'summarized' }, effort: level }
  const budget = Math.min(budgets[level] ?? budgetMin, limit - 1)
  return budget < budgetMin ? {} : { thinking: { type: 'enabled', budget_tokens: budget } }
}
