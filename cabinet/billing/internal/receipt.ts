import { z } from 'zod'
import { formatRub } from '#core/ledger/money'
import { outcomeToShow, shownOutcome } from '#core/ledger/request-record'
import { time, id as uuid } from '../../api/fields.ts'
import { rubles } from '../rubles.ts'
import { priceUnit, shownPrice } from '../shown-price.ts'
import type { SettledRequest } from './receipt-store.ts'
import { shownTokens, tokens } from './token-fields.ts'

const ms = z.int().min(0)

/** A receipt as the API returns it. */
export const receipt = z.object({
  object: z.literal('request'),
  id: uuid,
  created_at: time,
  api_key_id: uuid,
  endpoint: z.enum(['chat', 'embeddings']),
  api_format: z.enum(['chat_completions', 'responses', 'messages', 'embeddings']),
  model_asked: z.string(),
  model_ran: z.string().nullable(),
  outcome: shownOutcome,
  status: z.int(),
  error_code: z.string().nullable(),
  stream: z.boolean(),
  attempts: z.array(
    z.object({ model: z.string(), provider: z.string(), backend: z.string(), result: z.string(), ms }),
  ),
  dropped_params: z.array(z.string()),
  output_limit: z.int().nullable(),
  tokens,
  usage_source: z.enum(['provider', 'estimated', 'none']),
  price: z
    .object({
      id: uuid,
      currency: z.literal('RUB'),
      unit: z.literal('1M tokens'),
      input: z.string(),
      cached_input: z.string().nullable(),
      cache_write: z.string().nullable(),
      output: z.string(),
      reasoning: z.string().nullable(),
      per_request: z.string(),
    })
    .nullable(),
  cost_rub: rubles,
  timings: z.object({ first_content_ms: ms.nullable(), total_ms: ms }),
})

type Receipt = z.input<typeof receipt>

/** The API of a record that names none. */
const firstFormats = { chat: 'chat_completions', embeddings: 'embeddings' } as const

/**
 * The receipt of a settled request: everything that explains its cost, with rubles as exact decimal strings.
 *
 * The cost is Σ tokens × price + the price per request. A token class without its own price has the price of its
 * family (`cached_input` and `cache_write`: `input`; `reasoning`: `output`).
 */
export function receiptOf({ id, createdAt, keyId, cost, record, price }: SettledRequest): Receipt {
  return {
    object: 'request',
    id,
    created_at: createdAt.toISOString(),
    api_key_id: keyId,
    endpoint: record.endpoint,
    api_format: record.apiFormat ?? firstFormats[record.endpoint],
    model_asked: record.modelAsked,
    model_ran: record.modelRan,
    outcome: outcomeToShow(record.outcome),
    status: record.status,
    error_code: record.errorCode,
    stream: record.stream,
    attempts: record.attempts,
    dropped_params: record.droppedParameters,
    output_limit: record.outputLimit,
    tokens: shownTokens(record.tokens),
    usage_source: record.usageSource,
    price: price === null ? null : { id: price.id, ...priceUnit, ...shownPrice(price) },
    cost_rub: formatRub(cost),
    timings: { first_content_ms: record.firstContentMs, total_ms: record.totalMs },
  }
}
