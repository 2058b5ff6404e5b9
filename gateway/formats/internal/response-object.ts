import type { JsonObject } from '../../wire/json-fields.ts'
import type { OpenAiUsage } from '../../wire/openai-usage.ts'
import type { FinishReason } from '../content-step.ts'
import type { ResponsesError } from './responses-error.ts'

/** What a response shows about itself besides its output. */
export type ResponseFacts = {
  readonly requestId: string
  readonly model: string
  readonly createdS: number
  readonly serviceTier: string
}

/** How a response is, at one moment. */
export type ResponseState =
  | { readonly status: 'in_progress' }
  | { readonly status: 'completed'; readonly completedS: number }
  | { readonly status: 'incomplete'; readonly reason: 'max_output_tokens' | 'content_filter' }
  | { readonly status: 'failed'; readonly error: ResponsesError }

/** The id of the response to a request. */
export function responseIdOf(requestId: string): string {
  return `resp_${requestId}`
}

/**
 * The first fields of a response: those that neither repeat its request nor grow.
 *
 * @param store whether it is stored, or will be.
 */
export function responseHead(facts: ResponseFacts, state: ResponseState, store: boolean): JsonObject {
  const { requestId, createdS, model, serviceTier } = facts
  return {
    id: responseIdOf(requestId),
    object: 'response',
    created_at: createdS,
    status: state.status,
    completed_at: state.status === 'completed' ? state.completedS : null,
    error: state.status === 'failed' ? { code: state.error.code, message: state.error.message } : null,
    incomplete_details: state.status === 'incomplete' ? { reason: state.reason } : null,
    model,
    service_tier: serviceTier,
    store,
  }
}

/** How a response ends for the reason that its model gave. A refusal in words is a whole response. */
export function endState(finish: FinishReason | undefined, isRefused: boolean, nowS: number): ResponseState {
  if (finish === 'length') return { status: 'incomplete', reason: 'max_output_tokens' }
  if (finish === 'content_filter' && !isRefused) return { status: 'incomplete', reason: 'content_filter' }
  return { status: 'completed', completedS: nowS }
}

/** Usage by this API's names, and what it cost. */
export function responseUsage(usage: OpenAiUsage, costRub: string): JsonObject {
  const { prompt_tokens_details: input, completion_tokens_details: output } = usage
  return {
    input_tokens: usage.prompt_tokens,
    input_tokens_details: {
      cached_tokens: input.cached_tokens,
      cache_write_tokens: input.cache_write_tokens ?? 0,
    },
    output_tokens: usage.completion_tokens,
    output_tokens_details: { reasoning_tokens: output.reasoning_tokens },
    total_tokens: usage.total_tokens,
    cost_rub: costRub,
  }
}
