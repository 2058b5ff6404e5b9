import { formatRub } from '../money.ts'
import { priceUnit, shownPrice } from '../shown-price.ts'
import type { SettledRequest } from './receipt-store.ts'

/**
 * The receipt of a settled request: everything that explains its cost, roubles as exact decimal strings.
 *
 * The cost is Σ tokens × price + the price per request; a class without a price of its own has that of its family
 * (`cached_input` and `cache_write`: `input`; `reasoning`: `output`).
 */
export function receiptOf({ id, createdAt, keyId, cost, record, price }: SettledRequest): object {
  return {
    object: 'request',
    id,
    created_at: createdAt.toISOString(),
    api_key_id: keyId,
    endpoint: record.endpoint,
    model_asked: record.modelAsked,
    model_ran: record.modelRan,
    outcome: record.outcome,
    status: record.status,
    error_code: record.errorCode,
    stream: record.stream,
    attempts: record.attempts,
    dropped_params: record.droppedParameters,
    output_limit: record.outputLimit,
    tokens: {
      input: record.tokens.input,
      cached_input: record.tokens.cachedInput,
      cache_write: record.tokens.cacheWrite,
      output: record.tokens.output,
      reasoning: record.tokens.reasoning,
    },
    usage_source: record.usageSource,
    price: price === null ? null : { id: price.id, ...priceUnit, ...shownPrice(price) },
    cost_rub: formatRub(cost),
    timings: { first_content_ms: record.firstContentMs, total_ms: record.totalMs },
  }
}
